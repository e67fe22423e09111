//! Divergence from a reference policy: estimators, penalties, and a controller of the coefficient.

mod adaptive;
mod estimator;
mod penalty;

pub use adaptive::{AdaptiveKl, KlCoefficient, KlController};
pub use estimator::KlEstimator;
pub use penalty::{KlSums, kl_loss, kl_rewards, kl_sums};
