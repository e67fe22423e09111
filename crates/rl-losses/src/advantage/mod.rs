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
pub use decoupled::Gdpo;
pub use generalised::{Gae, GeneralisedAdvantages, generalised_advantages};
pub use group_baseline::QuantileBaseline;
pub use group_relative::{GroupNormalisation, group_relative_advantages};
pub use implicit_reward::{Prime, ProcessBaseline, ProcessScale, implicit_process_rewards};
pub use pass_at_k::{PassAtK, share_of_sets};
pub use returns::{Reinforce, ReinforcePlusPlus, ReturnBaseline};
pub use whitening::whitened;
