//! NVIDIA devices and driver of a machine, read off its files.

use std::path::Path;

/// Root folder for NVIDIA's files in tests, in place of `/`; `scripts/setup-libtorch.sh` reads it too.
const ROOT: &str = "LLM_TRAINER_NVIDIA_ROOT";

/// Files that show a device or a driver, most likely first; `scripts/setup-libtorch.sh` checks the same ones.
const SIGNS: [&str; 6] = [
    "dev/nvidia0",
    "dev/nvidiactl",
    "proc/driver/nvidia/version",
    "usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "usr/lib64/libcuda.so.1",
    "usr/lib/wsl/lib/libcuda.so.1",
];

/// NVIDIA's traces on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// File that shows a device or a driver; `None` on a machine without.
    pub sign: Option<String>,
    /// Version of the kernel's half of the driver, as `580.65.06`.
    pub driver: Option<String>,
}

impl Machine {
    /// Reads this machine.
    pub fn here() -> Self {
        Self::below(Path::new(&std::env::var_os(ROOT).unwrap_or_else(|| "/".into())))
    }

    /// Reads the machine whose files are below the folder `root`.
    fn below(root: &Path) -> Self {
        let sign = SIGNS.iter().find(|sign| root.join(sign).exists());
        let version = std::fs::read_to_string(root.join("proc/driver/nvidia/version"));
        Self {
            sign: sign.map(|sign| format!("/{sign}")),
            driver: version.ok().and_then(|text| driver_version(&text)),
        }
    }
}

/// Returns the first dotted number in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 …`.
fn driver_version(text: &str) -> Option<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(is_number);
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use workspace_tests::files::folder;

    use super::*;

    #[test]
    fn a_device_or_a_driver_is_seen_by_its_files() {
        assert_eq!(Machine::below(folder(&[]).path()), Machine::default());
        for sign in SIGNS {
            let machine = Machine::below(folder(&[(sign, "")]).path());
            assert_eq!(machine, Machine { sign: Some(format!("/{sign}")), driver: None });
        }
        let version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n\
                       GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
        let files = [("dev/nvidia0", ""), ("proc/driver/nvidia/version", version)];
        let machine = Machine::below(folder(&files).path());
        let seen = (machine.sign.as_deref(), machine.driver.as_deref());
        assert_eq!(seen, (Some("/dev/nvidia0"), Some("550.54.14")));
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root@)\n";
        assert_eq!(driver_version(open).as_deref(), Some("580.82.07"));
        assert_eq!(driver_version("NVRM version: none").or(driver_version("")), None);
    }

    #[test]
    fn the_setup_script_looks_at_the_same_files() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/setup-libtorch.sh");
        let text = std::fs::read_to_string(script).unwrap();
        let looped = text.split("for path in ").nth(1).and_then(|rest| rest.split(';').next());
        let paths: Vec<&str> =
            looped.unwrap().split_whitespace().filter(|word| *word != "\\").collect();
        assert_eq!(paths, SIGNS);
        assert!(text.contains(ROOT));
    }
}
