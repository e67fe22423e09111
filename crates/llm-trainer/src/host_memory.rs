//! Tensors offloaded to the host's memory while the device does not need them.
//!
//! A CPU device copies them too, so that every run takes the same code path.

use tch::{Device, Tensor};
use torch_ext::Argument;

/// Memory that holds a tensor between its uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// The memory of the model's device.
    #[default]
    Device,
    /// The host's memory.
    Host,
}

impl Memory {
    /// Returns `Host` for an offloaded tensor, else `Device`.
    pub fn offloaded(offloaded: bool) -> Self {
        if offloaded { Self::Host } else { Self::Device }
    }

    /// Returns true for the host's memory.
    pub fn is_host(self) -> bool {
        self == Self::Host
    }

    /// Returns the tensor there, detached: a copy in host memory, complete on return, or the tensor itself.
    pub(crate) fn place(self, tensor: &Tensor) -> Tensor {
        match self {
            Self::Device => tensor.shallow_clone(),
            Self::Host => {
                let _no_grad = tch::no_grad_guard();
                tensor.detach().to_dtype_layout((tensor.kind(), Device::Cpu), false, true)
            }
        }
    }

    /// Returns the tensor there for long use with many transfers: pinned if it came from CUDA.
    pub(crate) fn settle(self, tensor: &Tensor) -> Tensor {
        let placed = self.place(tensor);
        if !self.is_host() || !tensor.device().is_cuda() {
            return placed;
        }
        // Called with a device, as by tch, it warns at every tensor. What cannot be pinned is only slower.
        let pinned = torch_ext::call("aten::pin_memory", "", &[Argument::Tensor(&placed)]);
        pinned.ok().and_then(|mut pinned| pinned.pop()).unwrap_or(placed)
    }
}

/// Copies a tensor, asynchronously: from CUDA to pinned memory of the host, or back. The device's stream orders the two copies.
pub(crate) fn sent(tensor: &Tensor, device: Device) -> Tensor {
    let _no_grad = tch::no_grad_guard();
    tensor.detach().to_dtype_layout((tensor.kind(), device), true, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_away_comes_back_in_other_memory() {
        let tensor = Tensor::from_slice(&[1.5, -0.0, f64::INFINITY]);
        let away = sent(&tensor, Device::Cpu);
        let back = sent(&away, Device::Cpu);
        assert!(back.equal(&tensor));
        let places = [tensor.data_ptr(), away.data_ptr(), back.data_ptr()];
        assert!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
        assert_ne!(Memory::Host.place(&tensor).data_ptr(), tensor.data_ptr());
        assert_eq!(Memory::Device.settle(&tensor).data_ptr(), tensor.data_ptr());
    }
}
