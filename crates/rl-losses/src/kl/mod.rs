//! Divergence from a reference policy: estimators, penalties, and a controller of the coefficient.

mod adaptive;
mod estimator;
mod penalty;

pub use adaptive::{AdaptiveKl, KlCoefficient, KlController};
pub use estimator::KlEstimator;
pub use penalty::{kl_loss, kl_mean, kl_rewards};
