//! Which device to run on, and what this process has taken of its memory.

use anyhow::Context;
use tch::Device;
use trainer_core::config::Device as Choice;

/// The device a configuration asks for; loads CUDA first, as libtorch keeps its first answer about it.
///
/// # Errors
///
/// If a CUDA device is asked for by number and is not there.
pub fn resolve(choice: Choice) -> anyhow::Result<Device> {
    resolve_beside(choice, (0, 1))
}

/// As [`resolve`], for process `local` of `count` on this machine: each has a CUDA device of its own.
///
/// # Errors
///
/// As [`resolve`], or if there are not as many devices, or one is asked for by number.
pub fn resolve_beside(choice: Choice, (local, count): (usize, usize)) -> anyhow::Result<Device> {
    if choice == Choice::Cpu {
        return Ok(Device::Cpu);
    }
    let loaded = torch_ext::load_cuda();
    match choice {
        Choice::Auto if Device::cuda_if_available() == Device::Cpu => Ok(Device::Cpu),
        Choice::Auto => {
            let found = tch::Cuda::device_count();
            anyhow::ensure!(
                i64::try_from(local).is_ok_and(|local| local < found),
                "{count} ranks on this machine, expected at most one for each of {found} CUDA devices"
            );
            Ok(Device::Cuda(local))
        }
        Choice::Cuda(index) if count > 1 => anyhow::bail!(
            "device is cuda:{index} for {count} ranks on this machine, expected \"auto\": a CUDA device each"
        ),
        Choice::Cpu => Ok(Device::Cpu),
        Choice::Cuda(index) => {
            loaded.with_context(|| format!("device is cuda:{index}, but CUDA does not load"))?;
            let found = tch::Cuda::device_count();
            anyhow::ensure!(
                i64::try_from(index).is_ok_and(|index| index < found),
                "device is cuda:{index}, expected one of {found} CUDA devices"
            );
            Ok(Device::Cuda(index))
        }
    }
}

/// Sets libtorch's threads for one operation; 0 leaves them as libtorch sets them.
///
/// # Errors
///
/// If the number is larger than libtorch takes.
pub fn set_threads(threads: usize) -> anyhow::Result<()> {
    if threads > 0 {
        let count = i32::try_from(threads).with_context(|| {
            format!("`model.threads` is {threads}, expected at most {}", i32::MAX)
        })?;
        tch::set_num_threads(count);
    }
    Ok(())
}

/// Total and available memory of the machine.
pub(crate) fn memory_bytes() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    };
    Some((field("MemTotal:")?, field("MemAvailable:")?))
}

/// Peak resident memory of this process, in bytes, where the system says.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
