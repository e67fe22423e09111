//! Why a configuration does not become a run: one fault, or problems collected.

use std::fmt::{Debug, Display};
use std::path::PathBuf;

use messages::Problem;
use rl_losses::ParameterError;
use thiserror::Error;
use whole_file::FileError;

/// Why a configuration does not become a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not there or cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The name of the file says that it is YAML.
    #[error(
        "{}: is YAML, expected TOML; docs/configuration.md has an example and, for verl's keys, the names here",
        path.display()
    )]
    Yaml {
        /// The file.
        path: PathBuf,
    },
    /// The file is not TOML, or a key or type in it is wrong.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// Fault and expectation.
        message: String,
    },
    /// A `--set` cannot be applied.
    #[error("--set {argument}: {message}")]
    Override {
        /// Override as given.
        argument: String,
        /// Fault and expectation.
        message: String,
    },
    /// No published run has this name.
    #[error("--preset{}, expected one of{}", no_preset(name), list_presets(known))]
    UnknownPreset {
        /// Name as given; may be empty.
        name: String,
        /// Name and title of those whose names begin so, or of all.
        known: Vec<(&'static str, &'static str)>,
    },
    /// Values are out of range or contradict each other; all of them, one a line.
    #[error("{origin}: {}", list(problems))]
    Invalid {
        /// The file, or the name of the run.
        origin: String,
        /// At least one.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    /// A fault of `--set`.
    pub(super) fn of_override(argument: &str, message: String) -> Self {
        Self::Override { argument: argument.to_owned(), message }
    }
}

fn no_preset(name: &str) -> String {
    match name {
        "" => " has no name".to_owned(),
        name => format!(" {name}: there is no published run of that name"),
    }
}

fn list_presets(presets: &[(&str, &str)]) -> String {
    let line = |(name, title): &(&str, &str)| format!("\n  {name:24}{title}");
    presets.iter().map(line).collect()
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n  ")
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

    pub(super) fn finish(self, origin: &str) -> Result<(), ConfigError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(ConfigError::Invalid { origin: origin.to_owned(), problems: self.0 })
    }
}
