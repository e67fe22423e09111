//! Which device to run on, and what this process has taken of its memory.

mod cuda;
mod machine;

use anyhow::Context;
use messages::counted;
use tch::{Device, Kind};
use thiserror::Error;
use training_run::config::{Device as Choice, Dtype, ModelSection};

pub use cuda::NoCuda;
pub(crate) use cuda::{devices, hidden};
pub(crate) use machine::Machine;

/// Why the device that is asked for cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// `auto`, on a machine with a GPU that cannot be used.
    #[error(
        "device is \"auto\" and {sign} is here, but {reason}; for the CPU set model.device = \"cpu\" or --device cpu"
    )]
    Unusable {
        /// The file that tells of a GPU.
        sign: String,
        /// Why it cannot be used.
        reason: NoCuda,
    },
    /// A CUDA device is asked for, and there is none.
    #[error("device is {choice}, but {reason}")]
    NoCuda {
        /// What is asked for.
        choice: String,
        /// Why there is none.
        reason: NoCuda,
    },
    /// A CUDA device is asked for, and all are hidden.
    #[error(
        "device is {choice}, but CUDA_VISIBLE_DEVICES is \"{value}\", expected a device in it, or none such variable"
    )]
    Hidden {
        /// What is asked for.
        choice: String,
        /// The variable.
        value: String,
    },
    /// More ranks than devices.
    #[error(
        "{ranks} ranks on this machine, expected at most one for each of {devices} CUDA devices"
    )]
    Ranks {
        /// Ranks of this machine.
        ranks: usize,
        /// Its devices.
        devices: usize,
    },
    /// One device for several ranks.
    #[error(
        "device is cuda:{index} for {ranks} ranks on this machine, expected \"cuda\": a CUDA device each"
    )]
    Shared {
        /// The device's number.
        index: usize,
        /// Ranks of this machine.
        ranks: usize,
    },
    /// A number that no device has.
    #[error("device is cuda:{index}, expected one of {devices} CUDA devices")]
    Number {
        /// The number.
        index: usize,
        /// Devices of this machine.
        devices: usize,
    },
}

/// The device a configuration asks for; loads CUDA first, as libtorch keeps its first answer about it.
///
/// # Errors
///
/// If a CUDA device is asked for and is not there, or `auto` meets a GPU that cannot be used.
pub fn resolve(choice: Choice) -> Result<Device, DeviceError> {
    resolve_beside(choice, (0, 1))
}

/// As [`resolve`], for process `local` of `count` on this machine: each has a CUDA device of its own.
///
/// # Errors
///
/// As [`resolve`], or if there are not as many devices, or one is asked for by number.
pub fn resolve_beside(
    choice: Choice,
    (local, count): (usize, usize),
) -> Result<Device, DeviceError> {
    if choice == Choice::Cpu {
        return Ok(Device::Cpu);
    }
    let machine = Machine::here();
    // In this order: a GPU is asked about only where one is wanted.
    let hidden = hidden();
    let found = if hidden.is_none() { Some(devices(&machine)) } else { None };
    choose(choice, (local, count), &machine, found.ok_or(hidden.unwrap_or_default()))
}

/// `found`: the devices that there are, or what the variable is that hides them.
fn choose(
    choice: Choice,
    (local, count): (usize, usize),
    machine: &Machine,
    found: Result<Result<usize, NoCuda>, String>,
) -> Result<Device, DeviceError> {
    let devices = match (choice, found) {
        (Choice::Cpu, _) | (Choice::Auto, Err(_)) => return Ok(Device::Cpu),
        (Choice::Auto, Ok(Err(reason))) => {
            return match machine.sign.clone() {
                Some(sign) => Err(DeviceError::Unusable { sign, reason }),
                None => Ok(Device::Cpu),
            };
        }
        (_, Err(value)) => return Err(DeviceError::Hidden { choice: choice.into(), value }),
        (_, Ok(Err(reason))) => return Err(DeviceError::NoCuda { choice: choice.into(), reason }),
        (_, Ok(Ok(devices))) => devices,
    };
    match choice {
        Choice::Cuda(index) if count > 1 => Err(DeviceError::Shared { index, ranks: count }),
        Choice::Cuda(index) if index >= devices => Err(DeviceError::Number { index, devices }),
        Choice::Cuda(index) => Ok(Device::Cuda(index)),
        _ if local >= devices => Err(DeviceError::Ranks { ranks: count, devices }),
        _ => Ok(Device::Cuda(local)),
    }
}

/// Where the model of a run lies, and in which kind, for process `local` of `count` on this machine.
///
/// # Errors
///
/// As [`resolve_beside`].
pub(crate) fn place(
    model: &ModelSection,
    (local, count): (usize, usize),
) -> Result<(Device, Kind), DeviceError> {
    Ok((resolve_beside(model.device, (local, count))?, kind_of(model.dtype)))
}

/// libtorch's kind of a configured dtype.
pub(crate) fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::F32 => Kind::Float,
        Dtype::Bf16 => Kind::BFloat16,
        Dtype::F64 => Kind::Double,
    }
}

/// Name of a kind of weights, as a configuration writes it.
pub(crate) fn dtype_name(kind: Kind) -> &'static str {
    match kind {
        Kind::BFloat16 => "bf16",
        Kind::Double => "f64",
        _ => "f32",
    }
}

/// Says on standard error, in one line, where and how a command computes; before it loads anything. libtorch's threads are set.
pub(crate) fn announce(choice: Choice, device: Device, kind: Kind, ranks: usize) {
    let threads = usize::try_from(tch::get_num_threads()).unwrap_or(0);
    eprintln!("{}", first_line(choice, (device, kind), (threads, ranks), hidden()));
}

fn first_line(
    choice: Choice,
    (device, kind): (Device, Kind),
    (threads, ranks): (usize, usize),
    hidden: Option<String>,
) -> String {
    let device = match device {
        Device::Cuda(index) if ranks > 1 => format!("cuda:{index}, another for each rank"),
        Device::Cuda(index) => format!("cuda:{index}"),
        Device::Cpu if choice == Choice::Auto => match hidden {
            Some(value) => format!("cpu, as CUDA_VISIBLE_DEVICES is \"{value}\""),
            None => "cpu, as no NVIDIA device or driver is here".to_owned(),
        },
        _ => "cpu".to_owned(),
    };
    let dtype = dtype_name(kind);
    let (threads, ranks) = (counted(threads, "thread"), counted(ranks, "rank"));
    format!("llm-trainer: device {device}; dtype {dtype}; {threads}; {ranks}")
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

#[cfg(test)]
mod tests {
    use super::*;

    const NO_DEVICE: NoCuda = NoCuda::NoDevice { reason: None };

    fn machine(sign: Option<&str>) -> Machine {
        Machine { sign: sign.map(str::to_owned), driver: None }
    }

    fn said(choice: Choice, ranks: (usize, usize), found: Result<usize, NoCuda>) -> String {
        let gpu = machine(Some("/dev/nvidia0"));
        choose(choice, ranks, &gpu, Ok(found)).unwrap_err().to_string()
    }

    #[test]
    fn auto_takes_the_cpu_only_where_no_gpu_shows() {
        let auto = |sign, found| choose(Choice::Auto, (0, 1), &machine(sign), found);
        assert_eq!(auto(None, Ok(Err(NO_DEVICE))), Ok(Device::Cpu));
        assert_eq!(auto(None, Ok(Ok(2))), Ok(Device::Cuda(0)));
        assert_eq!(auto(Some("/dev/nvidia0"), Ok(Ok(1))), Ok(Device::Cuda(0)));
        assert_eq!(auto(Some("/dev/nvidia0"), Err(String::new())), Ok(Device::Cpu));
        assert_eq!(
            said(Choice::Auto, (0, 1), Err(NO_DEVICE)),
            "device is \"auto\" and /dev/nvidia0 is here, but NVIDIA's driver finds no device; \
             for the CPU set model.device = \"cpu\" or --device cpu"
        );
    }

    #[test]
    fn cuda_is_one_device_a_rank_or_an_error() {
        let machine = machine(None);
        for choice in [Choice::Auto, Choice::CudaOfRank] {
            assert_eq!(choose(choice, (0, 1), &machine, Ok(Ok(8))), Ok(Device::Cuda(0)));
            assert_eq!(choose(choice, (3, 8), &machine, Ok(Ok(8))), Ok(Device::Cuda(3)));
            assert_eq!(
                said(choice, (7, 8), Ok(4)),
                "8 ranks on this machine, expected at most one for each of 4 CUDA devices"
            );
        }
        let none = said(Choice::CudaOfRank, (0, 1), Err(NO_DEVICE));
        assert_eq!(none, "device is cuda, but NVIDIA's driver finds no device");
        let hidden = choose(Choice::CudaOfRank, (0, 1), &machine, Err("-1".to_owned()));
        let hidden = hidden.unwrap_err().to_string();
        assert!(hidden.contains("CUDA_VISIBLE_DEVICES is \"-1\""), "{hidden}");
    }

    #[test]
    fn a_device_by_its_number_is_for_one_process() {
        let machine = machine(None);
        assert_eq!(choose(Choice::Cuda(3), (0, 1), &machine, Ok(Ok(4))), Ok(Device::Cuda(3)));
        assert_eq!(
            said(Choice::Cuda(4), (0, 1), Ok(4)),
            "device is cuda:4, expected one of 4 CUDA devices"
        );
        assert_eq!(
            said(Choice::Cuda(1), (0, 2), Ok(4)),
            "device is cuda:1 for 2 ranks on this machine, expected \"cuda\": a CUDA device each"
        );
        let none = said(Choice::Cuda(1), (0, 1), Err(NO_DEVICE));
        assert_eq!(none, "device is cuda:1, but NVIDIA's driver finds no device");
    }

    #[test]
    fn the_first_line_says_where_and_how_and_why_not_on_a_gpu() {
        let line = |choice, place, of, hidden: Option<&str>| {
            first_line(choice, place, of, hidden.map(str::to_owned))
        };
        let cpu = (Device::Cpu, Kind::Float);
        assert_eq!(
            line(Choice::Auto, cpu, (2, 1), None),
            "llm-trainer: device cpu, as no NVIDIA device or driver is here; dtype f32; 2 threads; 1 rank"
        );
        assert_eq!(
            line(Choice::Auto, cpu, (1, 1), Some("")),
            "llm-trainer: device cpu, as CUDA_VISIBLE_DEVICES is \"\"; dtype f32; 1 thread; 1 rank"
        );
        assert_eq!(
            line(Choice::Cpu, (Device::Cpu, Kind::Double), (1, 2), None),
            "llm-trainer: device cpu; dtype f64; 1 thread; 2 ranks"
        );
        assert_eq!(
            line(Choice::CudaOfRank, (Device::Cuda(0), Kind::BFloat16), (12, 8), None),
            "llm-trainer: device cuda:0, another for each rank; dtype bf16; 12 threads; 8 ranks"
        );
    }
}
