//! Error of a data set that cannot be read or made.

use std::fmt::{self, Display};
use std::path::Path;

use messages::shown;
use thiserror::Error;
use whole_file::WriteError;

/// Supported kinds of file, for messages.
pub const KINDS_OF_FILE: &str = ".jsonl, .jsonl.zst, .json, .csv or .parquet";

/// Longest problem of a row within a message, in characters: it may quote the file.
pub(crate) const LONGEST_PROBLEM: usize = 1000;

/// Largest number of rows that a message lists.
const LISTED: usize = 10;

/// Error of a data set that cannot be read or made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The file is absent, or cannot be read or decompressed.
    #[error(transparent)]
    Read(#[from] WriteError),
    /// The file or the arithmetic task has not the questions that are expected. The message names it, and all bad rows.
    #[error("{0}")]
    Questions(String),
}

impl DatasetError {
    /// A fault in the content of a file.
    pub(super) fn of(path: &Path, problem: impl Display) -> Self {
        Self::Questions(format!("{}: {problem}", path.display()))
    }

    /// The file has no question.
    pub(super) fn empty(path: &Path) -> Self {
        Self::of(path, "no questions, expected at least one row")
    }

    /// Rows without a question or a readable answer, at least one, of `count` rows that were read.
    pub(super) fn of_rows(path: &Path, rows: &[BadRow], count: usize) -> Self {
        let one = |row: &BadRow| {
            let problem = shown(&row.problem.to_string(), LONGEST_PROBLEM);
            format!("{}{}: {problem}", path.display(), row.place)
        };
        if let [row] = rows {
            return Self::Questions(one(row));
        }
        let listed: Vec<String> = rows.iter().take(LISTED).map(one).collect();
        let more = match rows.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        let (bad, listed) = (rows.len(), listed.join("\n  "));
        Self::of(
            path,
            format_args!(
                "{bad} of {count} rows are invalid (bad_rows = \"drop\" leaves them out):\n  {listed}{more}"
            ),
        )
    }

    /// Questions that occur more than once where `duplicates` is `"error"`: the rows of each.
    pub(super) fn of_duplicates(path: &Path, groups: &[Vec<RowPlace>]) -> Self {
        let one = |group: &Vec<RowPlace>| {
            let numbers: Vec<String> =
                group.iter().take(LISTED).map(|place| place.number().to_string()).collect();
            format!("rows {}", numbers.join(" = "))
        };
        let listed: Vec<String> = groups.iter().take(LISTED).map(one).collect();
        let more = if groups.len() > LISTED { ", …" } else { "" };
        let (count, listed) = (groups.len(), listed.join(", "));
        Self::of(
            path,
            format_args!(
                "{count} questions stand there more than once, expected each once where duplicates is \"error\": {listed}{more}"
            ),
        )
    }
}

/// Place of a row, counted from 1. Prints as the suffix of a file name: `:7` or `: row 7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowPlace {
    /// Line of a text file.
    Line(usize),
    /// Row of a table.
    Row(usize),
}

impl RowPlace {
    /// Line or row, counted from 1.
    pub fn number(self) -> usize {
        let (Self::Line(number) | Self::Row(number)) = self;
        number
    }

    /// The place of a row after `before` others of former files.
    pub(super) fn after(self, before: usize) -> Self {
        match self {
            Self::Line(number) => Self::Line(number + before),
            Self::Row(number) => Self::Row(number + before),
        }
    }
}

impl fmt::Display for RowPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(formatter, ":{number}"),
            Self::Row(number) => write!(formatter, ": row {number}"),
        }
    }
}

/// Problem of one row, and the expected value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RowProblem {
    /// The row is no question.
    #[error("{0}")]
    Row(String),
    /// The answer exists, but the verifier cannot read it, or it holds no unit tests: no response could be right.
    #[error("{0}")]
    Answer(String),
}

impl RowProblem {
    /// The line is no JSON object.
    pub(super) fn not_an_object(why: impl Display) -> Self {
        Self::Row(format!("not a JSON object: {why}"))
    }

    /// A field, whose dots lead inside, is absent, empty or of the wrong type.
    pub(super) fn of_field(field: &str, problem: impl Display) -> Self {
        Self::Row(format!("field `{field}` {problem}"))
    }
}

/// A row that is no question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// Place of the row.
    pub place: RowPlace,
    /// Problem of the row.
    pub problem: RowProblem,
}
