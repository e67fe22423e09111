//! What a run is: as written ([`RunConfig`]), and checked ([`Run`]). Only a [`Run`] can start.
//!
//! Every field with its default is listed in `docs/configuration.md`, printed from [`fields`].

mod algorithm_fields;
mod by_name;
mod error;
mod fields;
mod load;
mod nearest;
mod resolve;
mod sections;

pub use error::{ConfigError, Problem};
pub use fields::{Field, configuration_page, fields};
pub use resolve::Run;
pub use sections::{
    AlgorithmSection, CheckpointSection, DataSection, Device, Dtype, EvaluationSection,
    MetricsSection, ModelSection, OptimizerSection, RewardSection, RolloutSection, RunConfig,
    TrainingSection,
};
