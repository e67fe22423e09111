//! Kinds of commands, and names of functions.

use std::sync::LazyLock;

use crate::table::Table;

static KINDS: LazyLock<Table> = LazyLock::new(|| Table::new(include_str!("names.txt"), ' '));
static FUNCTIONS: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("functions.txt"), ' '));

pub(super) fn is_fraction(name: &str) -> bool {
    KINDS.name(name) == Some("fraction")
}

/// Returns true for a command that begins a factor and is no function.
pub(super) fn starts_primary(name: &str) -> bool {
    KINDS.name(name).is_some()
}

pub(super) fn is_letter_command(name: &str) -> bool {
    is_greek(name) || KINDS.name(name) == Some("letter")
}

/// Returns true for the name of a Greek letter, which is one without its backslash, too: `theta`.
pub(crate) fn is_greek(name: &str) -> bool {
    KINDS.name(name) == Some("greek")
}

/// Returns the canonical name of a known function.
pub(crate) fn function_name(name: &str) -> Option<&'static str> {
    FUNCTIONS.name(name)
}

pub(super) fn inverse_name(name: &str) -> Option<&'static str> {
    function_name(&format!("arc{name}"))
}
