//! The training loop: rollout, update, measurement, checkpoint.

pub mod adamw;
mod adapter;
mod checkpoint;
pub mod external;
mod grading;
mod judge;
mod local_shard;
mod measurement;
mod own_reward;
mod packed;
pub mod policy_pass;
pub mod probe;
mod recording;
pub mod reward_model;
pub mod rollout;
mod scored;
mod sequence;
mod shared_pass;
mod split_weight;
mod step_key;
pub mod stochastic_rounding;
mod token_layout;
mod trainer;
pub mod update;
mod update_error;

pub(crate) use checkpoint::checked;
pub use own_reward::{Judged, OwnReward};
pub use recording::Recording;
pub use step_key::StepKey;
pub use trainer::{RolloutSource, StepReport, Trainer, preflight};
