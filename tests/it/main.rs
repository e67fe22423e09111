//! Tests that span crates.

mod architecture;
mod configurations;
mod documents;
mod theorem_through_losses;
