//! Importance weights for tokens that another policy, or another engine, has sampled.

mod level;
mod rejection;
mod settings;
mod sums;
mod weights;

pub use level::CorrectionLevel;
pub use rejection::{Rejection, RejectionEstimator, RejectionSpan};
pub use settings::{RolloutCorrection, WeightBound};
pub use sums::CorrectionSums;
pub use weights::Correction;
