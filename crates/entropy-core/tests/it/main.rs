//! The formulas against closed forms, recorded oracles and properties, through the public interface.

mod docs;
mod kernel;
mod law_intervals;
mod oracle;
mod performance_law;
mod properties;
mod regularised_steps;
mod shared_features;
