//! Tests that span crates.

mod architecture;
mod configurations;
mod documents;
mod pains;
mod recorded_schedules;
mod theorem_through_losses;
