//! A run: its configuration, its pages, and its folder, through the public interface.

mod config;
mod config_errors;
mod documents;
mod dynamic_sampling;
mod fuzz;
mod metrics;
mod presets;
mod run_directory;
mod saved_rollouts;
