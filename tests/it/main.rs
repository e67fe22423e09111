//! Tests that span crates.

mod architecture;
mod documents;
mod theorem_through_losses;
