//! Choice of the device, and this process's use of its memory.

mod cuda;
mod machine;

use anyhow::Context;
use messages::counted;
use model_files::device::Device as Choice;
use model_files::dtype::Dtype;
use tch::{Device, Kind};
use thiserror::Error;

pub use cuda::NoCuda;
pub use cuda::{devices, hidden, is_dealt_one};
pub use machine::Machine;

/// Why the requested device cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DeviceError(String);

/// The place of this process among the ranks of its machine.
#[derive(Debug, Clone, Copy)]
pub struct LocalRank {
    /// Index of this rank on its machine.
    pub index: usize,
    /// Number of ranks there.
    pub count: usize,
}

impl LocalRank {
    /// The only rank of its machine.
    pub const ALONE: Self = Self { index: 0, count: 1 };
}

/// Returns the device that a configuration requests. Loads CUDA first, as libtorch keeps its first answer about it.
///
/// # Errors
///
/// If a CUDA device is requested and is not there, or `auto` meets a GPU that cannot be used.
pub fn resolve(choice: Choice) -> Result<Device, DeviceError> {
    resolve_beside(choice, LocalRank::ALONE)
}

/// Resolves the device of a rank of this machine, as [`resolve`] does for one process.
///
/// Each rank has a CUDA device of its own: that of its index, of those that all see, or the only one that `srun` shows it.
///
/// # Errors
///
/// Those of [`resolve`]; also if there are too few devices, or one is requested by number.
pub fn resolve_beside(choice: Choice, rank: LocalRank) -> Result<Device, DeviceError> {
    if choice == Choice::Cpu {
        return Ok(Device::Cpu);
    }
    let rank = if is_dealt_one() { LocalRank::ALONE } else { rank };
    let machine = Machine::here();
    // In this order: a GPU is asked about only where one is wanted.
    let hidden = hidden();
    let usable = if hidden.is_none() { Some(devices(&machine)) } else { None };
    choose(choice, rank, &machine, usable.ok_or(hidden.unwrap_or_default()))
}

/// Chooses from `found`: the number of devices, or the value of the variable that hides them.
fn choose(
    choice: Choice,
    LocalRank { index: local, count }: LocalRank,
    machine: &Machine,
    found: Result<Result<usize, NoCuda>, String>,
) -> Result<Device, DeviceError> {
    let refused = |problem: String| Err(DeviceError(problem));
    let name = String::from(choice);
    let devices = match (choice, found) {
        (Choice::Cpu, _) | (Choice::Auto, Err(_)) => return Ok(Device::Cpu),
        (Choice::Auto, Ok(Err(reason))) => {
            let Some(sign) = &machine.sign else { return Ok(Device::Cpu) };
            return refused(format!(
                "device is \"auto\" and {sign} is here, but {reason}; for the CPU set model.device = \"cpu\" or --device cpu"
            ));
        }
        (_, Err(value)) => {
            let expected = "expected a device in it, or none such variable";
            return refused(format!(
                "device is {name}, but CUDA_VISIBLE_DEVICES is \"{value}\", {expected}"
            ));
        }
        (_, Ok(Err(reason))) => return refused(format!("device is {name}, but {reason}")),
        (_, Ok(Ok(devices))) => devices,
    };
    match choice {
        Choice::Cuda(_) if count > 1 => refused(format!(
            "device is {name} for {count} ranks on this machine, expected \"cuda\": a CUDA device each"
        )),
        Choice::Cuda(index) if index >= devices => {
            refused(format!("device is {name}, expected one of {devices} CUDA devices"))
        }
        Choice::Cuda(index) => Ok(Device::Cuda(index)),
        _ if local >= devices => refused(format!(
            "{count} ranks on this machine, expected at most one for each of {devices} CUDA devices"
        )),
        _ => Ok(Device::Cuda(local)),
    }
}

/// Device and kind of a run's model, for a rank of this machine.
///
/// # Errors
///
/// Those of [`resolve_beside`].
pub fn place(device: Choice, dtype: Dtype, rank: LocalRank) -> Result<(Device, Kind), DeviceError> {
    Ok((resolve_beside(device, rank)?, kind_of(dtype)))
}

/// libtorch's kind of a configured dtype.
pub fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::F32 => Kind::Float,
        Dtype::Bf16 => Kind::BFloat16,
        Dtype::F64 => Kind::Double,
    }
}

/// Name of a kind of weights, as a configuration writes it.
pub fn dtype_name(kind: Kind) -> &'static str {
    match kind {
        Kind::BFloat16 => "bf16",
        Kind::Double => "f64",
        _ => "f32",
    }
}

/// Writes one line to standard error that says where and how a command computes. Call it before loading anything, after setting threads.
pub fn announce(choice: Choice, device: Device, kind: Kind, ranks: usize) {
    let threads = usize::try_from(tch::get_num_threads()).unwrap_or(0);
    eprintln!("{}", first_line(choice, device, kind, threads, ranks));
}

fn first_line(choice: Choice, device: Device, kind: Kind, threads: usize, ranks: usize) -> String {
    let device = match device {
        Device::Cuda(index) if ranks > 1 => format!("cuda:{index}, another for each rank"),
        Device::Cuda(index) => format!("cuda:{index}"),
        Device::Cpu if choice == Choice::Auto => match hidden() {
            Some(value) => format!("cpu, as CUDA_VISIBLE_DEVICES is \"{value}\""),
            None => "cpu, as no NVIDIA device or driver is here".to_owned(),
        },
        _ => "cpu".to_owned(),
    };
    let dtype = dtype_name(kind);
    let (threads, ranks) = (counted(threads, "thread"), counted(ranks, "rank"));
    format!("llm-trainer: device {device}; dtype {dtype}; {threads}; {ranks}")
}

/// Sets libtorch's threads for one operation; 0 keeps libtorch's default.
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

/// Total and available memory of the machine, in bytes.
pub fn memory_bytes() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some((kernel_bytes(&text, "MemTotal:")?, kernel_bytes(&text, "MemAvailable:")?))
}

/// Peak resident memory of this process, in bytes, where the system reports it.
pub fn peak_memory_bytes() -> Option<u64> {
    kernel_bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// An amount of memory in a list of the kernel, `name: 123 kB`.
fn kernel_bytes(list: &str, name: &str) -> Option<u64> {
    let line = list.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> NoCuda {
        NoCuda::Other("NVIDIA's driver finds no device".to_owned())
    }

    /// The device, or the error, of a rank on a machine that shows a GPU by the file `sign`.
    fn chosen(
        choice: Choice,
        (index, count): (usize, usize),
        sign: Option<&str>,
        devices: Result<Result<usize, NoCuda>, &str>,
    ) -> String {
        let machine = Machine { sign: sign.map(str::to_owned), driver: None };
        let rank = LocalRank { index, count };
        match choose(choice, rank, &machine, devices.map_err(str::to_owned)) {
            Ok(device) => format!("{device:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn auto_takes_the_cpu_only_where_no_gpu_shows() {
        let auto = |sign, devices| chosen(Choice::Auto, (0, 1), sign, devices);
        assert_eq!(auto(None, Ok(Err(none()))), "Cpu");
        assert_eq!(auto(None, Ok(Ok(2))), "Cuda(0)");
        assert_eq!(auto(Some("/dev/nvidia0"), Ok(Ok(1))), "Cuda(0)");
        assert_eq!(auto(Some("/dev/nvidia0"), Err("")), "Cpu");
        assert_eq!(
            auto(Some("/dev/nvidia0"), Ok(Err(none()))),
            "device is \"auto\" and /dev/nvidia0 is here, but NVIDIA's driver finds no device; \
             for the CPU set model.device = \"cpu\" or --device cpu"
        );
    }

    #[test]
    fn cuda_is_one_device_a_rank_or_an_error() {
        for choice in [Choice::Auto, Choice::CudaOfRank] {
            assert_eq!(chosen(choice, (0, 1), None, Ok(Ok(8))), "Cuda(0)");
            assert_eq!(chosen(choice, (3, 8), None, Ok(Ok(8))), "Cuda(3)");
            assert_eq!(
                chosen(choice, (7, 8), None, Ok(Ok(4))),
                "8 ranks on this machine, expected at most one for each of 4 CUDA devices"
            );
        }
        let refused = "device is cuda, but NVIDIA's driver finds no device";
        assert_eq!(chosen(Choice::CudaOfRank, (0, 1), None, Ok(Err(none()))), refused);
        let numbered = |index, rank, devices| chosen(Choice::Cuda(index), rank, None, devices);
        assert_eq!(numbered(3, (0, 1), Ok(Ok(4))), "Cuda(3)");
        let refused = "device is cuda:1, but NVIDIA's driver finds no device";
        assert_eq!(numbered(1, (0, 1), Ok(Err(none()))), refused);
        let beyond = "device is cuda:4, expected one of 4 CUDA devices";
        assert_eq!(numbered(4, (0, 1), Ok(Ok(4))), beyond);
        assert_eq!(
            numbered(1, (0, 2), Ok(Ok(4))),
            "device is cuda:1 for 2 ranks on this machine, expected \"cuda\": a CUDA device each"
        );
    }

    #[test]
    fn the_first_line_counts_threads_and_ranks() {
        assert_eq!(
            first_line(Choice::Cpu, Device::Cpu, Kind::Double, 1, 2),
            "llm-trainer: device cpu; dtype f64; 1 thread; 2 ranks"
        );
        assert_eq!(
            first_line(Choice::CudaOfRank, Device::Cuda(0), Kind::BFloat16, 12, 8),
            "llm-trainer: device cuda:0, another for each rank; dtype bf16; 12 threads; 8 ranks"
        );
    }
}
