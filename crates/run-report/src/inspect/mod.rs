//! A run on a terminal: steps, groups, samples, tokens.
//!
//! [`Inspector`] holds the state and handles keys, [`draw`] draws it, [`run`] is the loop on a real terminal, and [`summary`]
//! prints plain lines. No mouse is needed; with `NO_COLOR` bold, underlined and reversed text take the place of colours.

#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "lines for a terminal: `write!` with results to discard would only be harder to read"
)]

mod draw;
mod filter;
mod inspector;
mod measure;
mod metric_rows;
mod palette;
mod summary;
mod terminal;
mod text_lines;

pub use draw::draw;
pub use inspector::Inspector;
pub use palette::Palette;
pub use summary::summary;
pub use terminal::{InspectError, run};
