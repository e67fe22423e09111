//! A training run: its configuration, the metrics of a step, and its files.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the configuration, checked before anything starts |
//! | [`schedule`], [`packing`], [`partition`] | the learning rate, micro-batches, and the partition over ranks |
//! | [`dynamic_sampling`], [`overlong`] | the responses that a step trains on |
//! | [`metrics`], [`token_record`] | metrics of a step, and values of each token |
//! | [`run_directory`], [`saved_rollouts`] | the folder of a run, and its rollouts on disk |
//! | [`manifest`], [`resume`], [`deadline`] | checkpoints: checksums, resuming, and the deadline |

pub mod config;
pub mod deadline;
pub mod dynamic_sampling;
pub mod manifest;
pub mod metrics;
pub mod overlong;
pub mod packing;
pub mod partition;
pub mod resume;
mod retention;
pub mod run_directory;
pub mod saved_rollouts;
pub mod schedule;
pub mod token_record;
