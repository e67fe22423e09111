//! Importance weights for tokens that another policy, or another engine, has sampled.

mod rejection;
mod settings;
mod sums;
mod weights;

pub use rejection::{CorrectionLevel, Rejection, RejectionEstimator, RejectionSpan};
pub use settings::{RolloutCorrection, WeightBound};
pub use sums::CorrectionSums;
pub use weights::Correction;
