//! Tests that span crates.

mod architecture;
mod benchmarks;
mod bill_of_materials;
mod book;
mod callers;
mod circles;
mod configurations;
mod documents;
mod metrics_scripts;
mod one_key;
mod pains;
mod plain_words;
mod publishing;
mod recorded_schedules;
mod scripts;
mod setup;
mod theorem_through_losses;
