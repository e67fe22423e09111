//! Importance weights for tokens that another policy, or another engine, has sampled.

mod settings;
mod sums;
mod weights;

pub use settings::{CorrectionLevel, RolloutCorrection, WeightBound};
pub use sums::CorrectionSums;
pub use weights::{Correction, normalise_weights};
