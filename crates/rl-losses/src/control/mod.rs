//! Controllers: from what a step measured to a knob of the next.
//!
//! Each is settings, checked once, and a state that can be serialised: a run that is resumed goes on
//! as if it had not stopped.

mod annealing;
mod difficulty;
mod error;
mod knob;
mod skywork;
mod target;
mod thermostat;

pub use annealing::Annealing;
pub use difficulty::{DifficultyThermostat, DifficultyThermostatSettings};
pub use error::ControlError;
pub use knob::Knob;
pub use skywork::{AdaptiveEntropy, AdaptiveEntropyController};
pub use target::EntropyTarget;
pub use thermostat::{Thermostat, ThermostatSettings};
