//! From rewards to the advantage of each token.

mod columns;
mod estimator;
mod generalised;
mod group_relative;
mod returns;
mod whitening;

pub use columns::{AdvantageError, RolloutColumns, broadcast_to_tokens};
pub use estimator::AdvantageEstimator;
pub use generalised::{Gae, GeneralisedAdvantages, generalised_advantages};
pub use group_relative::{
    GroupNormalisation, LoneSample, group_relative_advantages, leave_one_out_advantages,
    rloo_advantages,
};
pub use returns::{
    Reinforce, ReinforcePlusPlus, ReturnBaseline, discounted_returns, reinforce_advantages,
    reinforce_plus_plus_advantages, reinforce_plus_plus_baseline_advantages, remax_advantages,
};
pub use whitening::{whitened, whitened_by};
