//! The place that a model runs at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Device of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// [`Self::CudaOfRank`] on a machine with a GPU, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A CUDA device for each rank of a machine: the first for one process.
    CudaOfRank,
    /// The CUDA device of that number.
    Cuda(usize),
}

impl TryFrom<String> for Device {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::CudaOfRank),
            other => other
                .strip_prefix("cuda:")
                .and_then(|number| number.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| {
                    format!(
                        "device is {text:?}, expected \"auto\", \"cpu\", \"cuda\" or \"cuda:N\""
                    )
                }),
        }
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        match device {
            Device::Auto => "auto".to_owned(),
            Device::Cpu => "cpu".to_owned(),
            Device::CudaOfRank => "cuda".to_owned(),
            Device::Cuda(number) => format!("cuda:{number}"),
        }
    }
}
