//! The place of a process in its run, and the variables that define it.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// The place of one process in its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Rank of this process, `0..world_size`.
    pub rank: usize,
    /// Number of processes in the run, at least 1.
    pub world_size: usize,
    /// Rank of this process on its host, `0..local_world_size`: the index of its GPU.
    pub local_rank: usize,
    /// Number of processes of the run on this host.
    pub local_world_size: usize,
    /// Meeting point of the processes; `None` only for a single process.
    pub coordinator: Option<Coordinator>,
}

/// Meeting point of a run's processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coordinator {
    /// Name or address of the host of rank 0.
    pub host: String,
    /// TCP port of the store on that host.
    pub port: u16,
    /// True if the launcher already serves the store, so that rank 0 is a client like any other.
    pub served_by_launcher: bool,
    /// Number of times the launcher has restarted the run: each start has its own keys in the launcher's store.
    pub attempt: u64,
}

/// An environment variable that prevents a placement: it has an invalid value, or is not set but another one needs it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlacementError(String);

impl PlacementError {
    pub(super) fn value(variable: &str, value: &str, expected: &str) -> Self {
        Self(format!("{variable} is {value:?}, expected {expected}"))
    }

    pub(super) fn missing(variable: &str, expected: &str, because: &str) -> Self {
        Self(format!("{variable} is not set, expected {expected}, as {because}"))
    }
}

impl Placement {
    /// A run of one process.
    pub fn single() -> Self {
        Self { rank: 0, world_size: 1, local_rank: 0, local_world_size: 1, coordinator: None }
    }
}

/// Largest number of ranks: c10d counts them in `i32`.
pub(super) const MOST_RANKS: usize = i32::MAX as usize;

/// The environment, with errors that name the variable.
pub(super) struct Variables<'a> {
    pub(super) lookup: &'a dyn Fn(&'static str) -> Option<String>,
}

impl Variables<'_> {
    pub(super) fn has(&self, variable: &'static str) -> bool {
        (self.lookup)(variable).is_some()
    }

    pub(super) fn get(&self, variable: &'static str) -> Option<String> {
        (self.lookup)(variable)
    }

    /// Reads text that is not empty.
    pub(super) fn text(
        &self,
        variable: &'static str,
        expected: &str,
        because: impl Fn() -> String,
    ) -> Result<String, PlacementError> {
        let missing = || PlacementError::missing(variable, expected, &because());
        let value = (self.lookup)(variable).ok_or_else(missing)?;
        if value.trim().is_empty() {
            return Err(PlacementError::value(variable, &value, expected));
        }
        Ok(value.trim().to_owned())
    }

    /// Reads a whole number in `range`.
    pub(super) fn number<T: FromStr + PartialOrd + Display>(
        &self,
        variable: &'static str,
        range: RangeInclusive<T>,
        because: impl Fn() -> String,
    ) -> Result<T, PlacementError> {
        let expected = format!("a whole number in {}..={}", range.start(), range.end());
        let value = self.text(variable, &expected, because)?;
        match value.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(PlacementError::value(variable, &value, &expected)),
        }
    }

    /// Reads a number like [`Self::number`]; returns `default` if the variable is not set.
    pub(super) fn number_or<T: FromStr + PartialOrd + Display>(
        &self,
        variable: &'static str,
        range: RangeInclusive<T>,
        default: T,
    ) -> Result<T, PlacementError> {
        if self.has(variable) { self.number(variable, range, String::new) } else { Ok(default) }
    }

    /// Reads a truth value; torchrun writes Python's `True`.
    pub(super) fn truth(&self, variable: &'static str) -> Result<bool, PlacementError> {
        let Some(value) = (self.lookup)(variable) else { return Ok(false) };
        match value.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" | "" => Ok(false),
            _ => Err(PlacementError::value(variable, &value, "True or False")),
        }
    }
}
