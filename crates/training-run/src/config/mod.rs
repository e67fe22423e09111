//! Configuration of a run: as written ([`RunConfig`]), and checked ([`Run`]). Only a [`Run`] can start.
//!
//! Every field with its default is listed in `docs/configuration.md`, printed from [`fields`] by the tests.

mod algorithm;
mod batch_arithmetic;
mod by_name;
mod error;
mod evaluation;
mod field;
mod guard;
mod load;
mod optimizer;
mod parallel;
mod preset;
mod resolve;
mod reward;
mod reward_model;
mod rollout;
mod run;
mod schema;
mod sections;
mod thermostat;

pub use algorithm::{AlgorithmSection, KlPlacement, RatioTo, ReferenceKl};
pub use error::ConfigError;
pub(crate) use error::Problems;
pub use evaluation::{EvaluationSection, SourceEvaluation};
pub use field::{Field, fields};
pub(crate) use field::{dotted, leaves};
pub use guard::{GuardAction, GuardSection};
pub use load::verl_keys;
pub use model_files::device::Device;
pub use model_files::dtype::Dtype;
pub use model_files::lora::{LoraSection, LoraTarget};
pub use optimizer::{MasterWeights, OptimizerSection};
pub use parallel::{ParallelSection, Zero};
pub use preset::{RUN_PRESETS, RunPreset, SHARED_PRESET, preset};
pub use reward::{RewardProgram, RewardSection};
pub use reward_model::{RewardModelSection, RewardModelUpdate};
pub use rollout::{EngineServers, EnvironmentSection, InFlight, RolloutEngine, RolloutSection};
pub use run::{Commits, HubFile, Run};
pub use schema::schema;
pub use sections::{
    CheckpointSection, DataSection, MetricsSection, MetricsSink, ModelSection, RunConfig,
    TrainingSection,
};
pub use thermostat::ThermostatSection;
