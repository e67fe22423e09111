//! The training loop: rollout, update, measurement, checkpoint.

pub mod adamw;
mod adapter;
mod checkpointed_forward;
mod custom_reward;
mod engine;
mod environment;
pub(crate) mod judge;
mod line_process;
mod local_shard;
mod measurement;
mod packed;
pub mod policy_pass;
pub mod probe;
pub mod reward_model;
pub(crate) mod rollout;
mod sample;
mod scored;
mod sequence;
mod split_weight;
mod stochastic_rounding;
mod trainer;
mod trainer_state;
pub mod update;

pub use checkpointed_forward::CheckpointedForward;
pub use custom_reward::{CustomReward, RewardInput};
pub(crate) use trainer::checkpoint::checked;
pub(crate) use trainer::{RolloutSource, preflight};
pub use trainer::{StepReport, Trainer};
pub use update::StepKey;
