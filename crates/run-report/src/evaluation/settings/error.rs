//! Error in the settings of an evaluation.

use std::fmt::Display;

use thiserror::Error;

/// Why an evaluation cannot start.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct SettingsError(pub(super) String);

impl SettingsError {
    /// A fault of one set.
    pub(super) fn of_set(set: &str, problem: impl Display) -> Self {
        Self(format!("set `{set}`: {problem}"))
    }
}
