//! Unit of an importance weight.

use serde::{Deserialize, Serialize};

/// Unit that an importance weight is taken over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionLevel {
    /// Each token by itself: `e^ℓ_t`. Biased (the prefix is not corrected), of low variance.
    Token,
    /// The whole response: `e^(Σ ℓ)`. Unbiased, of high variance; verl's default.
    #[default]
    Sequence,
    /// The geometric mean over the response: `e^(mean ℓ)`. Does not grow with length; biased.
    Geometric,
}

impl CorrectionLevel {
    /// Log-ratio of a response, which is not empty, from those of its tokens; `None` where each token counts by itself.
    pub(super) fn of_response(self, log_ratio: &[f64]) -> Option<f64> {
        let total = || log_ratio.iter().sum::<f64>();
        match self {
            Self::Token => None,
            Self::Sequence => Some(total()),
            Self::Geometric => Some(total() / log_ratio.len() as f64),
        }
    }
}
