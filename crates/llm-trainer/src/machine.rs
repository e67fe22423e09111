//! Memory, GPU and processor speed of this machine, for plans.

use std::path::{Path, PathBuf};
use std::time::Instant;

use run_plan::plan::Hardware;
use tch::{Device, Kind, Tensor};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryInfo {
    pub(crate) total_bytes: u64,
    pub(crate) free_bytes: u64,
}

/// Memory of the machine, or of this process's control group if that is less. `None` where neither is reported.
pub(crate) fn host_memory() -> Option<MemoryInfo> {
    let (total, available) = ranks::device::memory_bytes()?;
    let machine = MemoryInfo { total_bytes: total, free_bytes: available };
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(within(machine, &control_groups(Path::new("/sys/fs/cgroup"), &groups)))
}

fn within(machine: MemoryInfo, groups: &[MemoryInfo]) -> MemoryInfo {
    groups.iter().fold(machine, |memory, group| MemoryInfo {
        total_bytes: memory.total_bytes.min(group.total_bytes),
        free_bytes: memory.free_bytes.min(group.free_bytes),
    })
}

/// Reads the limits of the control groups in `/proc/self/cgroup` and their parents; versions 1 and 2.
fn control_groups(root: &Path, listed: &str) -> Vec<MemoryInfo> {
    let number =
        |path: PathBuf| -> Option<u64> { std::fs::read_to_string(path).ok()?.trim().parse().ok() };
    let mut limits = Vec::new();
    for line in listed.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, limit, usage) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            names if names.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = root.join(group);
            // What is cached of files can be given back at any time.
            let statistics = std::fs::read_to_string(folder.join("memory.stat"));
            let statistics = statistics.unwrap_or_default();
            let cached = statistics.lines().find_map(|line| line.strip_prefix("inactive_file "));
            let cached = cached.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
            if let Some(total_bytes) = number(folder.join(limit)) {
                let used = number(folder.join(usage)).unwrap_or(0).saturating_sub(cached);
                limits
                    .push(MemoryInfo { total_bytes, free_bytes: total_bytes.saturating_sub(used) });
            }
        }
    }
    limits
}

/// Free and total memory of a device; `None` where unknown.
pub(crate) fn memory_of(device: Device) -> Option<MemoryInfo> {
    match device {
        Device::Cuda(index) => {
            let (free, total) = torch_ext::cuda_memory_info(index).ok()?;
            Some(MemoryInfo { total_bytes: total, free_bytes: free })
        }
        _ => host_memory(),
    }
}

/// Peak memory of this process on its device, in bytes.
pub(crate) fn peak_bytes(device: Device) -> Option<u64> {
    match device {
        Device::Cuda(index) => torch_ext::cuda_peak_reserved_bytes(index).ok()?.try_into().ok(),
        _ => ranks::device::peak_memory_bytes(),
    }
}

/// This machine's GPU, if it has one, with the speed of its known model, or of the slowest known one.
pub(crate) fn gpu(network_gigabits: f64) -> Option<Hardware> {
    let memory = (tch::Cuda::device_count() > 0).then(|| memory_of(Device::Cuda(0)))??;
    let model = gpu_model(Path::new("/proc/driver/nvidia/gpus")).unwrap_or_default();
    let known = known_gpu(&model);
    let mut hardware = Hardware::named(known.unwrap_or("a100"), network_gigabits)?;
    if known.is_none() {
        hardware.name = format!("{} (times as of an A100)", model.trim());
    }
    hardware.memory_bytes = memory.total_bytes;
    hardware.host_bytes = host_memory().map(|memory| memory.total_bytes);
    Some(hardware)
}

/// Model name that the driver reports for its first device.
fn gpu_model(folder: &Path) -> Option<String> {
    let first = std::fs::read_dir(folder).ok()?.flatten().next()?;
    let text = std::fs::read_to_string(first.path().join("information")).ok()?;
    let model = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
    Some(model.trim().to_owned())
}

fn known_gpu(model: &str) -> Option<&'static str> {
    let model = model.to_ascii_lowercase();
    ["h200", "h100", "a100"].into_iter().find(|name| model.contains(name))
}

/// Measures the CPU in a tenth of a second each: operations of matrix products of this kind, and bytes of memory read, per second.
pub(crate) fn cpu_speed(kind: Kind) -> [f64; 2] {
    const WIDTH: i64 = 768;
    const ELEMENTS: i64 = 1 << 24;
    let _no_grad = tch::no_grad_guard();
    let factor = Tensor::ones([WIDTH, WIDTH], (kind, Device::Cpu));
    let products = per_second(|| decoder::bf16_matmul::matmul(&factor, &factor));
    let column = Tensor::ones([ELEMENTS], (Kind::Float, Device::Cpu));
    let reads = per_second(|| column.sum(Kind::Float));
    [products * 2.0 * (WIDTH as f64).powi(3), reads * 4.0 * ELEMENTS as f64]
}

fn per_second(work: impl Fn() -> Tensor) -> f64 {
    const SECONDS: f64 = 0.1;
    let _warm = work();
    let begin = Instant::now();
    let mut count = 0.0;
    loop {
        let _result = work();
        count += 1.0;
        let seconds = begin.elapsed().as_secs_f64();
        if seconds >= SECONDS {
            return count / seconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn file(folder: &Path, name: &str, text: &str) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }

    #[test]
    fn a_container_has_the_memory_of_its_control_group() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("slurm/job");
        file(folder.path().join("slurm").as_path(), "memory.max", "max\n");
        file(&job, "memory.max", "8589934592\n");
        file(&job, "memory.current", "4294967296\n");
        file(&job, "memory.stat", "anon 1\ninactive_file 1073741824\n");
        let machine = MemoryInfo { total_bytes: 64 * GIB, free_bytes: 60 * GIB };
        let memory = within(machine, &control_groups(folder.path(), "0::/slurm/job/step\n"));
        assert_eq!(memory, MemoryInfo { total_bytes: 8 * GIB, free_bytes: 5 * GIB });
        assert_eq!(within(machine, &control_groups(folder.path(), "0::/\n")), machine);
    }

    #[test]
    fn control_groups_of_version_1_are_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let docker = folder.path().join("memory/docker");
        file(&docker, "memory.limit_in_bytes", "2147483648\n");
        let listed = "12:cpu,cpuacct:/docker\n5:memory:/docker\n1:name=systemd:/docker\n";
        let memory = MemoryInfo { total_bytes: 2 * GIB, free_bytes: 2 * GIB };
        assert_eq!(control_groups(folder.path(), listed), [memory]);
    }

    #[test]
    fn a_gpu_is_known_by_what_its_driver_calls_it() {
        let folder = tempfile::tempdir().unwrap();
        let card = folder.path().join("0000:19:00.0");
        file(&card, "information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n");
        let model = gpu_model(folder.path()).unwrap();
        assert_eq!((model.as_str(), known_gpu(&model)), ("NVIDIA H100 80GB HBM3", Some("h100")));
        assert_eq!(known_gpu("NVIDIA L40S"), None);
        assert_eq!(gpu_model(&folder.path().join("absent")), None);
    }
}
