//! A training run: what it is, the numbers of a step, and what it leaves on disk.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the configuration, checked before anything starts |
//! | [`schedule`], [`packing`], [`dealing`] | the learning rate, micro-batches, and the share of each rank |
//! | [`dynamic_sampling`], [`overlong`] | the responses that a step trains on |
//! | [`metrics`], [`token_record`] | what a step reports, and what is known of each token |
//! | [`run_directory`], [`saved_rollouts`] | the folder of a run, and its rollouts on disk |
//! | [`manifest`], [`resume`], [`retention`], [`deadline`] | checkpoints: whole or damaged, gone on after, kept, and in time |

pub mod config;
pub mod deadline;
pub mod dealing;
pub mod dynamic_sampling;
pub mod manifest;
pub mod metrics;
pub mod overlong;
pub mod packing;
pub mod resume;
pub mod retention;
pub mod run_directory;
pub mod saved_rollouts;
pub mod schedule;
pub mod token_record;
