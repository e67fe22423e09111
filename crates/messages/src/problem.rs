//! Description of a value out of range.

use std::fmt;

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Dotted path of the field.
    pub field: String,
    /// Value of the field.
    pub value: String,
    /// Allowed values.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is {}, expected {}", self.field, self.value, self.expected)
    }
}
