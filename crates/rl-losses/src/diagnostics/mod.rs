//! Diagnostics of a step's effect on entropy, from its columns.

mod divergence;
mod entropy_change;
mod group_covariance;
mod quadrants;

pub use divergence::DivergenceSums;
pub use entropy_change::{EntropyChangeColumns, EntropyChangeSums};
pub use group_covariance::group_covariances;
pub use quadrants::quadrants;
