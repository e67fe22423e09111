//! Tensors that lie in the host's memory while the device does not need them.
//!
//! Where the device is the CPU they are copied all the same, to memory of their own, so that every run takes the one path.

use tch::{Device, Tensor};

/// Where something lies between its uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// Where the model lies.
    #[default]
    Device,
    /// In the host's memory.
    Host,
}

impl Memory {
    /// That of something that is `offloaded` or not.
    pub fn offloaded(offloaded: bool) -> Self {
        if offloaded { Self::Host } else { Self::Device }
    }

    /// Whether it is the host's.
    pub fn is_host(self) -> bool {
        self == Self::Host
    }

    /// The tensor there, outside of any graph; a copy in the host's memory, which waits for it, the tensor itself elsewhere.
    pub(crate) fn place(self, tensor: &Tensor) -> Tensor {
        match self {
            Self::Device => tensor.shallow_clone(),
            Self::Host => {
                let _no_grad = tch::no_grad_guard();
                tensor.detach().to_dtype_layout((tensor.kind(), Device::Cpu), false, true)
            }
        }
    }

    /// The same where it stays and travels often: pinned where it came from CUDA.
    pub(crate) fn settle(self, tensor: &Tensor) -> Tensor {
        let placed = self.place(tensor);
        if self.is_host() && tensor.device().is_cuda() {
            return placed.pin_memory(tensor.device());
        }
        placed
    }
}

/// A copy in the host's memory, for [`bring_back`]. From CUDA it is pinned, and on its way while the host goes on.
pub(crate) fn send_away(tensor: &Tensor) -> Tensor {
    let _no_grad = tch::no_grad_guard();
    tensor.detach().to_dtype_layout((tensor.kind(), Device::Cpu), true, true)
}

/// A copy on `device` of what was sent away: the stream of the device does one after the other.
pub(crate) fn bring_back(tensor: &Tensor, device: Device) -> Tensor {
    let _no_grad = tch::no_grad_guard();
    tensor.to_dtype_layout((tensor.kind(), device), true, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_away_comes_back_in_other_memory() {
        let tensor = Tensor::from_slice(&[1.5, -0.0, f64::INFINITY]);
        let away = send_away(&tensor);
        let back = bring_back(&away, Device::Cpu);
        assert!(back.equal(&tensor));
        let places = [tensor.data_ptr(), away.data_ptr(), back.data_ptr()];
        assert!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
        assert_ne!(Memory::Host.place(&tensor).data_ptr(), tensor.data_ptr());
        assert_eq!(Memory::Device.settle(&tensor).data_ptr(), tensor.data_ptr());
    }
}
