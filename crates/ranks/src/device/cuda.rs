//! Check that CUDA can be used, and advice where it cannot.

use thiserror::Error;
use torch_ext::{CudaDriver, CudaLibrary, cuda_driver, load_cuda, missing_cuda_libraries};

use super::machine::Machine;

/// CUDA of torch 2.11.0's wheel, where libtorch does not say which it has.
const CUDA: (i32, i32) = (13, 0);

/// Why libtorch has no CUDA device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoCuda {
    /// Libraries that libtorch's CUDA half loads are missing.
    #[error("{}: `CUDA=1 make setup` fetches {}", listed(.missing), if .missing.len() == 1 { "it" } else { "them" })]
    Libraries {
        /// All missing libraries.
        missing: Vec<CudaLibrary>,
    },
    /// The loader refuses the CUDA half for another reason, the driver is missing or too old, or it finds no device.
    #[error("{0}")]
    Other(String),
}

/// Writes `libcusparse.so.12 (wheel nvidia-cusparse) is missing`, with the number of others.
fn listed(missing: &[CudaLibrary]) -> String {
    let with_wheel = |library: &CudaLibrary| format!("{} (wheel {})", library.name, library.wheel);
    let names: Vec<String> = missing.iter().take(2).map(with_wheel).collect();
    let verb = if missing.len() == 1 { "is" } else { "are" };
    match missing.len().saturating_sub(names.len()) {
        0 => format!("{} {verb} missing", names.join(" and ")),
        1 => format!("{} and another are missing", names.join(", ")),
        others => format!("{} and {others} others {verb} missing", names.join(", ")),
    }
}

/// Facts about a machine where libtorch has no device.
#[derive(Debug, Clone)]
struct Facts {
    loaded: Result<(), String>,
    missing: Vec<CudaLibrary>,
    driver: Option<CudaDriver>,
    installed: Option<String>,
    needs: (i32, i32),
}

/// Number of CUDA devices that libtorch can use, at least one.
///
/// # Errors
///
/// The reason that there is none.
pub fn devices(machine: &Machine) -> Result<usize, NoCuda> {
    // Before any question about CUDA: libtorch keeps the first answer.
    let loaded = load_cuda();
    let count = if loaded.is_ok() { tch::Cuda::device_count() } else { 0 };
    if let Ok(count @ 1..) = usize::try_from(count) {
        return Ok(count);
    }
    let configuration = torch_ext::libtorch().configuration;
    Err(reason(Facts {
        missing: if loaded.is_err() { missing_cuda_libraries() } else { Vec::new() },
        loaded: loaded.map_err(|error| error.to_string()),
        driver: cuda_driver().ok(),
        installed: machine.driver.clone(),
        needs: built_for(&configuration).unwrap_or(CUDA),
    }))
}

fn reason(Facts { loaded, missing, driver, installed, needs }: Facts) -> NoCuda {
    if let Err(reason) = loaded {
        // Of a libtorch for another CUDA all of them are missing, and none is what it asks for.
        let is_of_ours = missing.iter().any(|library| reason.contains(library.name));
        return if is_of_ours {
            NoCuda::Libraries { missing }
        } else {
            NoCuda::Other(format!("libtorch's CUDA half does not load: {reason}"))
        };
    }
    let needed = driver_for(needs);
    let with = |mark: &str, text: Option<String>| {
        text.map_or_else(String::new, |text| format!("{mark}{text}"))
    };
    NoCuda::Other(match driver {
        None => format!(
            "NVIDIA's driver is missing (libcuda.so.1): install version {needed}, or give the container its GPUs (docker run --gpus all)"
        ),
        // A driver runs every CUDA of its own generation.
        Some(CudaDriver { cuda_version: (major, minor), .. }) if major < needs.0 => format!(
            "NVIDIA's driver{} runs CUDA {major}.{minor} at most, libtorch needs CUDA {}.{}: install version {needed}",
            with(" ", installed),
            needs.0,
            needs.1
        ),
        Some(CudaDriver { refusal, .. }) => {
            format!("NVIDIA's driver finds no device{}", with(": ", refusal))
        }
    })
}

/// The oldest driver for a CUDA, in words (NVIDIA's release notes, "CUDA Toolkit and Minimum Required Driver Version").
fn driver_for((major, minor): (i32, i32)) -> String {
    match major {
        13 => "580 or later".to_owned(),
        12 => "525 or later".to_owned(),
        _ => format!("for CUDA {major}.{minor} or later"),
    }
}

/// The CUDA in libtorch's description of itself: `…, CUDA_VERSION=13.0, …`.
fn built_for(configuration: &str) -> Option<(i32, i32)> {
    let (_, rest) = configuration.split_once("CUDA_VERSION=")?;
    let (major, rest) = rest.split_once('.')?;
    let minor = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Value of `CUDA_VISIBLE_DEVICES`, if it hides every device.
pub fn hidden() -> Option<String> {
    std::env::var("CUDA_VISIBLE_DEVICES").ok().filter(|devices| hides_all(devices))
}

/// Returns true if a launcher has assigned one device to this process, such as `srun` with `--gpus-per-task=1`.
pub fn is_dealt_one() -> bool {
    shows_one(|name| std::env::var(name).ok())
}

/// True for `srun` alone: `launch` and torchrun show every process all devices and set its local rank.
fn shows_one(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_by_srun = variable("SLURM_LOCALID").is_some() && variable("LOCAL_RANK").is_none();
    let devices = variable("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    is_by_srun && !hides_all(&devices) && !devices.contains(',')
}

/// Returns true if the first entry is no valid device: CUDA ignores it and all after it. Slurm writes `NoDevFiles`.
fn hides_all(devices: &str) -> bool {
    let first = devices.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first.starts_with('-') || first == "NoDevFiles"
}

#[cfg(test)]
mod tests {
    use torch_ext::CUDA_LIBRARIES;

    use super::*;

    fn facts() -> Facts {
        Facts {
            loaded: Ok(()),
            missing: Vec::new(),
            driver: Some(CudaDriver { cuda_version: (13, 0), refusal: None }),
            installed: Some("580.65.06".to_owned()),
            needs: (13, 0),
        }
    }

    fn said(facts: Facts) -> String {
        reason(facts).to_string()
    }

    #[test]
    fn missing_libraries_are_named_with_their_wheels_and_the_remedy() {
        let lacking = |refused: &str, missing: &[CudaLibrary]| {
            let loaded = Err(format!("{refused}: cannot open shared object file"));
            said(Facts { loaded, missing: missing.to_vec(), ..facts() })
        };
        let named = |name: &str| *CUDA_LIBRARIES.iter().find(|one| one.name == name).unwrap();
        let [cudnn, cusparse] = ["libcudnn.so.9", "libcusparse.so.12"].map(named);
        assert_eq!(
            lacking("libcusparse.so.12", std::slice::from_ref(&cusparse)),
            "libcusparse.so.12 (wheel nvidia-cusparse) is missing: `CUDA=1 make setup` fetches it"
        );
        assert_eq!(
            lacking("libcusparse.so.12", &[cudnn, cusparse]),
            "libcudnn.so.9 (wheel nvidia-cudnn-cu13) and libcusparse.so.12 (wheel nvidia-cusparse) are missing: \
             `CUDA=1 make setup` fetches them"
        );
        assert_eq!(
            lacking("libcusparse.so.12", &CUDA_LIBRARIES),
            "libcublas.so.13 (wheel nvidia-cublas), libcublasLt.so.13 (wheel nvidia-cublas) and 11 others are missing: \
             `CUDA=1 make setup` fetches them"
        );
        assert_eq!(
            lacking("libcublas.so.12", &CUDA_LIBRARIES),
            "libtorch's CUDA half does not load: libcublas.so.12: cannot open shared object file"
        );
    }

    #[test]
    fn the_driver_that_is_needed_is_named() {
        let none = said(Facts { driver: None, ..facts() });
        assert!(none.contains("libcuda.so.1") && none.contains("580 or later"), "{none}");
        let old = CudaDriver { cuda_version: (12, 4), refusal: None };
        let installed = Some("550.54.14".to_owned());
        assert_eq!(
            said(Facts { driver: Some(old.clone()), installed, ..facts() }),
            "NVIDIA's driver 550.54.14 runs CUDA 12.4 at most, libtorch needs CUDA 13.0: install version 580 or later"
        );
        let for_twelve = Facts { driver: Some(old), needs: (12, 6), ..facts() };
        assert_eq!(said(for_twelve), "NVIDIA's driver finds no device");
        let refusal = Some("cuInit: no CUDA-capable device is detected (100)".to_owned());
        let broken = CudaDriver { cuda_version: (13, 0), refusal };
        assert_eq!(
            said(Facts { driver: Some(broken), ..facts() }),
            "NVIDIA's driver finds no device: cuInit: no CUDA-capable device is detected (100)"
        );
    }

    #[test]
    fn libtorch_says_for_which_cuda_it_was_built() {
        assert_eq!(built_for("Build settings: A=1, CUDA_VERSION=12.6, B=2"), Some((12, 6)));
        assert_eq!(built_for("Build settings: A=1"), None);
    }

    #[test]
    fn srun_may_show_each_process_one_device() {
        let shows = |set: &[(&str, &str)]| {
            shows_one(|name| set.iter().find(|(set, _)| *set == name).map(|(_, v)| (*v).to_owned()))
        };
        let task = ("SLURM_LOCALID", "3");
        assert!(shows(&[task, ("CUDA_VISIBLE_DEVICES", "0")]));
        assert!(shows(&[task, ("CUDA_VISIBLE_DEVICES", "GPU-8932f937")]));
        for devices in ["0,1", "", "-1", "NoDevFiles"] {
            assert!(!shows(&[task, ("CUDA_VISIBLE_DEVICES", devices)]), "{devices:?}");
        }
        assert!(!shows(&[task]));
        assert!(!shows(&[task, ("CUDA_VISIBLE_DEVICES", "0"), ("LOCAL_RANK", "3")]));
        assert!(!shows(&[("CUDA_VISIBLE_DEVICES", "0"), ("LOCAL_RANK", "3")]));
    }

    #[test]
    fn devices_are_hidden_by_an_empty_list_or_one_that_begins_with_none() {
        for devices in ["", " ", "-1", "NoDevFiles", "-1,0"] {
            assert!(hides_all(devices), "{devices:?}");
        }
        for devices in ["0", "1,0", "GPU-8932f937", "0,-1"] {
            assert!(!hides_all(devices), "{devices:?}");
        }
    }
}
