//! Configuration of a run: as written ([`RunConfig`]), and checked ([`Run`]). Only a [`Run`] can start.
//!
//! Every field with its default is listed in `docs/configuration.md`, printed from [`fields`] by the tests.

mod batch_arithmetic;
mod by_name;
mod control;
mod defaults;
mod engine;
mod environment;
mod environment_problems;
mod error;
mod evaluation;
mod feedable;
mod field;
mod hub;
mod load;
mod metrics_sink;
mod optimizer;
mod out_of_range;
mod parallel;
mod preset;
mod problems;
mod range;
mod ratio;
mod resolve;
mod reward_model;
mod reward_program;
mod run_preset;
mod sampling_meanings;
mod schema;
mod sections;
mod thermostat;
mod verl;

pub use batch_arithmetic::BatchArithmetic;
pub use control::{GuardAction, GuardSection, KlPlacement, ReferenceKl};
pub use engine::{EngineServers, InFlight, RolloutEngine};
pub use environment::EnvironmentSection;
pub use error::ConfigError;
pub use evaluation::{EvaluationSection, SourceEvaluation};
pub use field::{Field, fields};
pub use hub::{Commits, HubFile, Located};
pub use metrics_sink::MetricsSink;
pub use model_files::device::Device;
pub use model_files::dtype::Dtype;
pub use model_files::lora::{LoraSection, LoraTarget};
pub use optimizer::{MasterWeights, OptimizerSection};
pub use parallel::{ParallelSection, Zero};
pub use preset::preset;
pub use ratio::RatioTo;
pub use resolve::Run;
pub use reward_model::{RewardModelSection, RewardModelUpdate};
pub use reward_program::RewardProgram;
pub use run_preset::{RUN_PRESETS, RunPreset, SHARED_PRESET};
pub use schema::schema;
pub use sections::{
    AlgorithmSection, CheckpointSection, DataSection, MetricsSection, ModelSection, RewardSection,
    RolloutSection, RunConfig, TrainingSection,
};
pub use thermostat::ThermostatSection;
pub use verl::VERL_KEYS;
