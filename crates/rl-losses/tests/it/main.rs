//! Behaviour of the losses: recorded cases, properties, snapshots, configuration.

mod advantages;
mod configuration;
mod conformance;
mod properties;
mod recorded_advantages;
mod snapshots;
