//! Counts of a configuration as sizes of tensors, and new tensors in the model's kind.

use tch::{Device, Kind, Tensor};

/// A freshly made tensor on the model's device and in its kind.
pub(super) fn place(tensor: &Tensor, device: Device, kind: Kind) -> Tensor {
    tensor.to_kind(kind).to_device(device)
}

/// A count of a checked configuration as one of libtorch's sizes.
pub(super) fn size(count: usize) -> i64 {
    i64::try_from(count).expect("a checked config holds numbers up to 2^31")
}
