//! Problems of a configuration, collected.

use std::fmt::Debug;

use messages::Problem;
use rl_losses::ParameterError;

use super::ConfigError;

/// The problems of a configuration, as they are found.
#[derive(Default)]
pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, field: &str, value: String, expected: &str) {
        let (field, expected) = (field.to_owned(), expected.to_owned());
        self.0.push(Problem { field, value, expected });
    }

    pub(super) fn add_unless(&mut self, good: bool, field: &str, value: String, expected: &str) {
        if !good {
            self.add(field, value, expected);
        }
    }

    pub(super) fn add_parameter(&mut self, section: &str, error: &ParameterError) {
        let (field, value, expected) = match *error {
            ParameterError::OutOfRange { field, value, expected } => {
                (field, value, expected.to_owned())
            }
            ParameterError::Order { low_field, low, high_field, high } => {
                (low_field, low, format!("less than {high_field} = {high}"))
            }
            _ => return self.add(section, error.to_string(), "a number within its range"),
        };
        self.add(&format!("{section}.{field}"), format!("{value:?}"), &expected);
    }

    pub(super) fn require(&mut self, good: bool, field: &str, value: impl Debug, expected: &str) {
        self.add_unless(good, field, format!("{value:?}"), expected);
    }

    pub(super) fn finish(self, origin: &str) -> Result<(), ConfigError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(ConfigError::Invalid { origin: origin.to_owned(), problems: self.0 })
    }
}
