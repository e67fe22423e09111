//! Collectives between real processes: this binary starts itself as the ranks.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the bodies of ranks are tests too; ranks and sizes are small whole numbers"
)]

mod arguments;
mod closed_forms;
mod failures;
mod overlap;
mod processes;
mod rank;
mod sub_groups;
