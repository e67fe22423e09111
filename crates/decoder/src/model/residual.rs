//! The residual stream on its way through the blocks.

use tch::Tensor;

use super::fused::{FusedOperations, KernelOperation};
use super::operand::Operand;
use super::rms_norm::RmsNorm;

/// A residual stream whose last addition is pending, so that it can be fused with the next norm.
#[derive(Debug)]
pub(crate) struct Residual {
    /// `[rows, len, hidden]`.
    sum: Tensor,
    pending: Option<Tensor>,
}

impl Residual {
    pub(crate) fn new(x: Tensor) -> Self {
        Self { sum: x, pending: None }
    }

    /// Adds `y`, of the same shape.
    pub(super) fn add(&mut self, y: Tensor) {
        self.settle();
        self.pending = Some(y);
    }

    /// The norm of the sum. A kernel changes the sum in place; libtorch's operators allocate a new one.
    pub(crate) fn normalised(&mut self, norm: &RmsNorm, fused: &FusedOperations) -> Operand {
        let kernels = fused.kernels(KernelOperation::Norm).filter(|_| !norm.from_one);
        let by_kernel = kernels.and_then(|kernels| {
            let (y, norm) = (self.pending.as_ref(), (&norm.weight, norm.eps));
            kernels.add_and_normalise(&mut self.sum, y, norm).ok()
        });
        if let Some(normed) = by_kernel {
            self.pending = None;
            return Operand::plain(normed);
        }
        self.settle();
        Operand::normed(&self.sum, norm)
    }

    /// Returns the sum of all addends.
    pub(super) fn into_sum(mut self) -> Tensor {
        self.settle();
        self.sum
    }

    fn settle(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.sum = &self.sum + pending;
        }
    }
}
