//! Checks that NCCL can be reached: its constructor is called by symbol, checked in one version of libtorch.

use super::error::GroupError;
use crate::{libtorch, load_cuda};

/// The version whose headers the sizes and symbols in `collectives.cpp` were checked against.
const CHECKED: &str = "2.11.0";

/// Fails with the reason unless the CUDA half of the checked libtorch is loaded.
pub(super) fn require(device: usize) -> Result<(), GroupError> {
    let problem =
        |problem: String| GroupError::Refused(format!("no NCCL for device {device}: {problem}"));
    // First, because describing libtorch asks for CUDA, and libtorch keeps its first answer.
    load_cuda().map_err(|error| problem(error.message))?;
    let library = libtorch();
    require_version(&library.built_against, &library.configuration).map_err(problem)?;
    let devices = usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
    if device >= devices {
        return Err(problem(format!("{devices} CUDA devices found")));
    }
    Ok(())
}

/// Checks the versions; `configuration` is libtorch's description of itself, `…, TORCH_VERSION=2.11.0, …`.
fn require_version(built_against: &str, configuration: &str) -> Result<(), String> {
    let running = configuration
        .split_once("TORCH_VERSION=")
        .and_then(|(_, rest)| rest.split([',', ' ', '\n']).next())
        .unwrap_or("unknown");
    for (what, version) in [("built against", built_against), ("running with", running)] {
        // The headers say `2.11.0` or, in other builds, `2.11.0+cu130`.
        if version.split('+').next() != Some(CHECKED) {
            return Err(format!("{what} libtorch {version}, expected {CHECKED}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_checked_version_will_do() {
        for (built_against, running_with, problem) in [
            ("2.11.0", "2.11.0", None),
            ("2.11.0+cu130", "2.11.0+cpu", None),
            ("2.11.0", "2.11.1", Some("running with libtorch 2.11.1, expected 2.11.0")),
            ("2.10.0", "2.11.0", Some("built against libtorch 2.10.0, expected 2.11.0")),
        ] {
            let running = format!("Build settings: A=1, TORCH_VERSION={running_with}, B=2");
            assert_eq!(require_version(built_against, &running).err().as_deref(), problem);
        }
        assert!(require_version("2.11.0", "").unwrap_err().contains("unknown"));
    }

    #[test]
    fn the_library_in_use_says_its_version() {
        let library = libtorch();
        assert_eq!(require_version(&library.built_against, &library.configuration), Ok(()));
    }
}
