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
