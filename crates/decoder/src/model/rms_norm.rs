//! Root-mean-square normalisation.

use tch::Tensor;

/// The norm `x / sqrt(mean(x²) + eps) · weight` over the last dimension.
#[derive(Debug)]
pub(super) struct RmsNorm {
    /// `[width]`.
    pub(super) weight: Tensor,
    pub(super) eps: f64,
}

impl RmsNorm {
    /// Returns a copy of the norm that shares memory.
    pub(super) fn shallow_clone(&self) -> Self {
        Self { weight: self.weight.shallow_clone(), eps: self.eps }
    }

    /// Normalises `x`, `[.., width]`; libtorch computes in f32 for narrower kinds and returns the kind of `x`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        x.rms_norm(self.weight.size(), Some(&self.weight), self.eps)
    }
}
