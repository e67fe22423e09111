//! Root-mean-square normalisation.

use model_files::model_config::ModelConfig;
use tch::Tensor;

use crate::head::statistics_kind;

/// The norm `x / sqrt(mean(x²) + eps) · weight` over the last dimension.
#[derive(Debug)]
pub(crate) struct RmsNorm {
    /// `[width]`.
    pub(crate) weight: Tensor,
    pub(super) eps: f64,
    /// True if the norm multiplies by `1 + weight`.
    pub(super) from_one: bool,
}

impl RmsNorm {
    pub(super) fn of(config: &ModelConfig, weight: Tensor) -> Self {
        let from_one = config.architecture.block().norms_from_one;
        Self { weight, eps: config.rms_norm_eps, from_one }
    }

    /// Weight of a new norm, which multiplies by 1.
    pub(super) fn fresh_weight(config: &ModelConfig) -> f64 {
        if config.architecture.block().norms_from_one { 0.0 } else { 1.0 }
    }

    pub(super) fn shallow_clone(&self) -> Self {
        Self { weight: self.weight.shallow_clone(), ..*self }
    }

    /// Normalises `x`, `[.., width]`; libtorch computes in f32 for narrower kinds and returns the kind of `x`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        let width = self.weight.size();
        if !self.from_one {
            return x.rms_norm(width, Some(&self.weight), self.eps);
        }
        // As transformers, which rounds the product alone.
        let wide = statistics_kind(x);
        let weight = self.weight.to_kind(wide) + 1;
        x.to_kind(wide).rms_norm(width, Some(&weight), self.eps).to_kind(x.kind())
    }
}
