//! Names of runs in tables.

use figures::html::escape;

/// Formats a run's name with its colour.
pub(super) fn name_cell(colour: usize, name: &str) -> String {
    format!("<span class=\"run c{}\">{}</span>", colour % 10, escape(name))
}
