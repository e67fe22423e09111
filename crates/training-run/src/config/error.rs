//! Why a configuration does not become a run: one fault, or problems collected.

use std::fmt::{Debug, Display};

use messages::Problem;
use rl_losses::ParameterError;
use serde::Serialize;
use thiserror::Error;

/// Why a configuration does not become a run: a file that cannot be read, a fault in it or in an override, or all values out of
/// range, one a line.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConfigError(pub(super) String);

impl ConfigError {
    /// A fault of `--set`.
    pub(super) fn of_override(argument: &str, message: &str) -> Self {
        Self(format!("--set {argument}: {message}"))
    }

    /// All problems of the configuration that `origin` names.
    pub(super) fn invalid(origin: impl Display, problems: &[Problem]) -> Self {
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        Self(format!("{origin}: {}", lines.join("\n  ")))
    }
}

/// The problems of a configuration, as they are found.
#[derive(Default)]
pub(crate) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, field: &str, value: impl Display, expected: &str) {
        let (field, value, expected) = (field.to_owned(), value.to_string(), expected.to_owned());
        self.0.push(Problem { field, value, expected });
    }

    pub(super) fn add_unless(
        &mut self,
        good: bool,
        field: &str,
        value: impl Display,
        expected: &str,
    ) {
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
            _ => return self.add(section, error, "a number within its range"),
        };
        self.add(&format!("{section}.{field}"), format!("{value:?}"), &expected);
    }

    pub(crate) fn require(&mut self, good: bool, field: &str, value: impl Debug, expected: &str) {
        self.add_unless(good, field, format!("{value:?}"), expected);
    }

    /// Requires the words of a command to begin with a program.
    pub(super) fn require_program(&mut self, field: &str, words: &[String]) {
        let is_given = words.first().is_some_and(|word| !word.is_empty());
        self.require(is_given, field, words, "a program and its arguments");
    }

    /// Fails if there are any.
    pub(super) fn finish(self) -> Result<(), Vec<Problem>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// A name in quotes, as a configuration has it.
pub(super) fn written(name: &impl Serialize) -> String {
    serde_json::to_string(name).unwrap_or_default()
}
