//! Training: rollout, update, measurement, checkpoint; one step after another.

pub mod adamw;
mod checkpoint;
mod measurement;
pub mod policy_pass;
pub mod probe;
pub mod rollout;
mod trainer;
pub mod update;

pub use trainer::{StepReport, Trainer};
