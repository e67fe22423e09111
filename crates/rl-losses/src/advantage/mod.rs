//! From rewards to the advantage of each token.

mod catalogue;
mod columns;
mod decoupled;
mod estimator;
mod generalised;
mod group_baseline;
mod group_relative;
mod implicit_reward;
mod pass_at_k;
mod returns;
mod token_baseline;
mod whitening;

pub use catalogue::{AdvantageEstimator, EstimatorEntry, estimators};
pub use columns::{AdvantageError, RolloutColumns, broadcast_to_tokens};
pub use decoupled::{Gdpo, gdpo_advantages};
pub use generalised::{Gae, GeneralisedAdvantages, generalised_advantages};
pub use group_baseline::{QuantileBaseline, gpg_advantages, opo_advantages, quantile_advantages};
pub use group_relative::{
    GroupNormalisation, LoneSample, group_relative_advantages, max_rl_advantages, rloo_advantages,
};
pub use implicit_reward::{
    Prime, ProcessBaseline, ProcessScale, implicit_process_rewards, prime_advantages,
};
pub use pass_at_k::{PassAtK, best_of_group_advantages, pass_at_k_advantages, share_of_sets};
pub use returns::{
    Reinforce, ReinforcePlusPlus, ReturnBaseline, discounted_returns, reinforce_advantages,
    reinforce_plus_plus_advantages, reinforce_plus_plus_baseline_advantages, remax_advantages,
};
pub use token_baseline::optimal_token_baseline_advantages;
pub use whitening::{whitened, whitened_by};
