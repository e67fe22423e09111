//! Numbers and tensors in the kinds that libtorch takes.

use tch::{Device, Kind, Tensor};

/// A freshly made tensor on the model's device and in its kind.
pub(super) fn place(tensor: &Tensor, device: Device, kind: Kind) -> Tensor {
    tensor.to_kind(kind).to_device(device)
}

/// A count as one of libtorch's sizes.
pub(crate) fn size(count: usize) -> i64 {
    i64::try_from(count).expect("counts are far below 2^63")
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
pub(crate) fn narrowed(value: f64) -> f32 {
    value as f32
}
