//! Numbers and tensors in the kinds that libtorch takes.

use tch::kind::Element;
use tch::{Device, Kind, Tensor};

/// A freshly made tensor on the model's device and in its kind.
pub(super) fn place(tensor: &Tensor, device: Device, kind: Kind) -> Tensor {
    tensor.to_kind(kind).to_device(device)
}

/// Copies all numbers of a tensor in order, converted to `T`.
pub(crate) fn numbers<T: Element + Copy>(tensor: &Tensor) -> Vec<T> {
    let flat = tensor.detach().to_device(Device::Cpu).to_kind(T::KIND).reshape(-1);
    Vec::try_from(flat).expect("a one-dimensional tensor of this kind")
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
pub(crate) fn narrowed(value: f64) -> f32 {
    value as f32
}
