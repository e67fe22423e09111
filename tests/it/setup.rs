//! Downloads of `scripts/setup-libtorch.sh`, run beside a Python whose pip only records its arguments.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::architecture::root;

/// pip as far as the script uses it: each wheel of the list becomes its `.dist-info`, and torch a library as well. `$FAKE/fails` says that
/// the network breaks after the first wheel.
const PYTHON: &str = r#"#!/usr/bin/env bash
set -euo pipefail
[[ $1 == -m && $2 == pip ]] || exit 64
[[ $3 == --version ]] && exit 0
[[ $3 == install && " $* " == *" --require-hashes "* && " $* " == *" --no-deps "* ]] || exit 64
while [[ $1 != --target ]]; do shift; done
site=$2 list=$4
grep -v '^#' "$list" >>"$FAKE/asked"
mkdir -p "$site/nvidia/cu13/lib"
while read -r wheel hash; do
  [[ $hash == --hash=sha256:???????????????????????????????????????????????????????????????? ]] || exit 65
  name=${wheel%%==*}
  mkdir -p "$site/${name//-/_}-${wheel##*==}.dist-info"
  touch "$site/${name//-/_}-${wheel##*==}.dist-info/RECORD" "$site/nvidia/cu13/lib/$name"
  if [[ $name == torch ]]; then mkdir -p "$site/torch/lib" && touch "$site/torch/lib/libtorch_cpu.so"; fi
  if [[ -e $FAKE/fails ]]; then echo "connection reset" >&2; exit 1; fi
done < <(grep -v '^#' "$list")
"#;

const CPU: [&str; 3] = ["torch", "nvidia-cuda-runtime", "nvidia-cuda-cupti"];
const CUDA: [&str; 12] = [
    "nvidia-cublas",
    "nvidia-cuda-nvrtc",
    "nvidia-cudnn-cu13",
    "nvidia-cufft",
    "nvidia-cufile",
    "nvidia-curand",
    "nvidia-cusolver",
    "nvidia-cusparse",
    "nvidia-cusparselt-cu13",
    "nvidia-nccl-cu13",
    "nvidia-nvjitlink",
    "nvidia-nvshmem-cu13",
];

/// A checkout with the script alone, on a machine without a GPU.
struct Checkout {
    folder: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["scripts", "machine"] {
            fs::create_dir(folder.path().join(name)).expect("a temporary folder is writable");
        }
        for name in ["setup-libtorch.sh", "libtorch-cpu.txt", "libtorch-cuda.txt"] {
            let script = Path::new("scripts").join(name);
            fs::copy(root().join(&script), folder.path().join(&script)).expect("the same");
        }
        let python = folder.path().join("python");
        fs::write(&python, PYTHON).expect("the same");
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("writable");
        fs::write(path, "").expect("writable");
    }

    fn run(&self, variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new("bash");
        command.arg(self.path("scripts/setup-libtorch.sh"));
        for inherited in ["LIBTORCH", "CUDA"] {
            command.env_remove(inherited);
        }
        command.env("PYTHON", self.path("python")).env("FAKE", self.folder.path());
        command.env("LLM_TRAINER_NVIDIA_ROOT", self.path("machine"));
        command.envs(variables.iter().copied()).output().expect("bash runs")
    }

    /// Runs the script, which must succeed, and returns its output.
    fn says(&self, variables: &[(&str, &str)]) -> String {
        let output = self.run(variables);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Names of the wheels that pip was asked for since the last call.
    fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("asked")).unwrap_or_default();
        let _none_yet = fs::remove_file(self.path("asked"));
        text.lines().filter_map(|line| Some(line.split_once("==")?.0.to_owned())).collect()
    }

    fn left_behind(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path(".libtorch")).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".tmp")).collect()
    }
}

#[test]
fn without_a_gpu_the_half_for_the_cpu_is_fetched_once() {
    let checkout = Checkout::new();
    let message = checkout.says(&[]);
    assert!(
        message.starts_with("libtorch: downloading from PyPI (544 MB, 1189 MB on disk)"),
        "{message}"
    );
    assert_eq!(checkout.asked(), CPU);
    assert_eq!(checkout.says(&[]), "libtorch: 2.11.0, in .libtorch/\n");
    assert!(checkout.asked().is_empty() && checkout.left_behind().is_empty());
}

#[test]
fn with_a_gpu_what_is_missing_for_it_is_fetched() {
    for sign in ["dev/nvidia0", "proc/driver/nvidia/version", "usr/lib64/libcuda.so.1"] {
        let checkout = Checkout::new();
        checkout.says(&[]);
        assert_eq!(checkout.asked(), CPU);
        checkout.write(&format!("machine/{sign}"));
        let message = checkout.says(&[]);
        assert!(message.contains("(1968 MB, 2785 MB on disk)"), "{message}");
        assert!(
            message.contains(&format!("as /{sign} is here; CUDA=0 leaves them out")),
            "{message}"
        );
        assert_eq!(checkout.asked(), CUDA);
        assert_eq!(checkout.says(&[]), "libtorch: 2.11.0 with CUDA's libraries, in .libtorch/\n");
        assert!(checkout.asked().is_empty());
    }
}

#[test]
fn the_user_has_the_last_word_on_cuda() {
    let checkout = Checkout::new();
    checkout.write("machine/dev/nvidia0");
    checkout.says(&[("CUDA", "0")]);
    assert_eq!(checkout.asked(), CPU);
    let without = Checkout::new();
    without.says(&[("CUDA", "1")]);
    assert_eq!(without.asked(), [&CPU[..], &CUDA].concat());
    let output = without.run(&[("CUDA", "yes")]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: CUDA is yes, expected 1 or 0\n");
}

#[test]
fn a_download_that_breaks_leaves_nothing_and_is_made_again() {
    let checkout = Checkout::new();
    checkout.write("fails");
    let output = checkout.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("connection reset") && message.contains("error: pip could not"),
        "{message}"
    );
    assert_eq!(fs::read_dir(checkout.path(".libtorch")).unwrap().count(), 0);
    fs::remove_file(checkout.path("fails")).unwrap();
    checkout.asked();
    checkout.says(&[]);
    assert_eq!(checkout.asked(), CPU);
    // One wheel whose last file did not arrive.
    checkout.says(&[("CUDA", "1")]);
    checkout.asked();
    fs::remove_file(checkout.path(".libtorch/nvidia_nccl_cu13-2.28.9.dist-info/RECORD")).unwrap();
    checkout.says(&[("CUDA", "1")]);
    assert_eq!(checkout.asked(), ["nvidia-nccl-cu13"]);
}

#[test]
fn a_libtorch_of_ones_own_is_left_as_it_is() {
    let checkout = Checkout::new();
    let installed = checkout.path("own");
    let variables = [("LIBTORCH", installed.to_str().unwrap()), ("CUDA", "1")];
    assert_eq!(checkout.run(&variables).status.code(), Some(2));
    checkout.write("own/lib/libtorch_cpu.so");
    assert_eq!(checkout.says(&variables), format!("libtorch: yours, {}\n", installed.display()));
    assert!(checkout.asked().is_empty() && !checkout.path(".libtorch").exists());
}
