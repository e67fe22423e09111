//! The libraries that libtorch's CUDA half needs: the wheel of each, and those that are missing here.

use std::path::{Path, PathBuf};

use crate::device::library_folder;
use crate::kernels::Library;

/// A library of NVIDIA that libtorch's CUDA half loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaLibrary {
    /// File name that the loader looks for.
    pub name: &'static str,
    /// Wheel on `PyPI` that contains it.
    pub wheel: &'static str,
}

/// The libraries of libtorch 2.11.0 for CUDA 13, except the two that its CPU half also loads. `scripts/libtorch-cuda.txt` lists
/// the wheels.
pub const CUDA_LIBRARIES: [CudaLibrary; 13] = {
    const fn of(name: &'static str, wheel: &'static str) -> CudaLibrary {
        CudaLibrary { name, wheel }
    }
    [
        of("libcublas.so.13", "nvidia-cublas"),
        of("libcublasLt.so.13", "nvidia-cublas"),
        of("libnvrtc.so.13", "nvidia-cuda-nvrtc"),
        of("libcudnn.so.9", "nvidia-cudnn-cu13"),
        of("libcufft.so.12", "nvidia-cufft"),
        of("libcufile.so.0", "nvidia-cufile"),
        of("libcurand.so.10", "nvidia-curand"),
        of("libcusolver.so.12", "nvidia-cusolver"),
        of("libcusparse.so.12", "nvidia-cusparse"),
        of("libcusparseLt.so.0", "nvidia-cusparselt-cu13"),
        of("libnccl.so.2", "nvidia-nccl-cu13"),
        of("libnvJitLink.so.13", "nvidia-nvjitlink"),
        of("libnvshmem_host.so.3", "nvidia-nvshmem-cu13"),
    ]
};

/// The libraries of [`CUDA_LIBRARIES`] that are neither beside libtorch nor found by the loader.
pub fn missing_cuda_libraries() -> Vec<CudaLibrary> {
    missing_from(&library_folders(library_folder().as_deref()))
}

fn missing_from(folders: &[PathBuf]) -> Vec<CudaLibrary> {
    let is_here = |name: &str| {
        folders.iter().any(|folder| folder.join(name).exists()) || {
            // SAFETY: a library of NVIDIA's, whose initialisers libtorch's CUDA half runs as well.
            unsafe { Library::open("a library of CUDA", &[PathBuf::from(name)]) }.is_ok()
        }
    };
    CUDA_LIBRARIES.into_iter().filter(|library| !is_here(library.name)).collect()
}

/// Libtorch's folder, then those of NVIDIA's wheels beside torch's: `torch/lib` and `nvidia/*/lib` of a `site-packages`.
pub(crate) fn library_folders(libtorch: Option<&Path>) -> Vec<PathBuf> {
    let wheels = libtorch.and_then(|folder| Some(folder.ancestors().nth(2)?.join("nvidia")));
    let entries = wheels.and_then(|wheels| std::fs::read_dir(wheels).ok()).into_iter().flatten();
    let mut beside: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path().join("lib")).collect();
    beside.sort();
    libtorch.map(Path::to_owned).into_iter().chain(beside).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use workspace_tests::files::folder;

    use super::*;

    #[test]
    fn a_library_is_missing_until_a_folder_holds_it() {
        let packages =
            folder(&[("torch/lib/libnccl.so.2", ""), ("nvidia/cudnn/lib/libcudnn.so.9", "")]);
        let torch = packages.path().join("torch/lib");
        let is_missing = |name: &str| {
            let missing = missing_from(&library_folders(Some(&torch)));
            missing.iter().any(|library| library.name == name)
        };
        let everywhere = missing_from(&[]);
        assert_eq!(["libcudnn.so.9", "libnccl.so.2"].map(is_missing), [false, false]);
        drop(packages);
        // A machine may have some of them where its loader looks.
        let is_here = |name| !everywhere.iter().any(|library| library.name == name);
        assert_eq!(
            ["libcudnn.so.9", "libnccl.so.2"].map(is_missing),
            ["libcudnn.so.9", "libnccl.so.2"].map(|name| !is_here(name))
        );
    }

    #[test]
    fn the_setup_script_fetches_the_wheel_of_each() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let list = std::fs::read_to_string(root.join("scripts/libtorch-cuda.txt")).unwrap();
        let fetched: BTreeSet<&str> =
            list.lines().filter_map(|line| Some(line.split_once("==")?.0)).collect();
        let named: BTreeSet<&str> = CUDA_LIBRARIES.iter().map(|library| library.wheel).collect();
        assert_eq!(named, fetched);
    }
}
