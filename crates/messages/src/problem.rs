//! Values out of range.

use std::fmt;

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Dotted path of the field.
    pub field: String,
    /// Its value.
    pub value: String,
    /// What was expected.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is {}, expected {}", self.field, self.value, self.expected)
    }
}
