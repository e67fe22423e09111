//! Rows of a file that are no questions, and errors of a whole file.

use std::fmt;
use std::path::Path;

use messages::shown;
use thiserror::Error;
use whole_file::FileError;

/// Supported kinds of file, for messages.
pub const KINDS_OF_FILE: &str = ".jsonl, .jsonl.zst, .json, .csv or .parquet";

/// Longest problem of a row within a message, in characters: it may quote the file.
pub(crate) const LONGEST_PROBLEM: usize = 1000;

/// Largest number of rows that a message lists.
const LISTED: usize = 10;

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

/// Problem of one row, in words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{words}")]
pub struct RowProblem {
    words: String,
    /// True if there is an answer, but the verifier cannot read it: no response could be right.
    pub(crate) has_answer: bool,
}

impl RowProblem {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), has_answer: false }
    }

    /// A line or element of a list is no JSON object.
    pub(super) fn not_an_object(reason: &str) -> Self {
        Self::new(format!("not a JSON object: {reason}"))
    }

    /// A field, whose dots lead inside, is absent, empty or of the wrong type.
    pub(super) fn of_field(field: &str, problem: impl fmt::Display) -> Self {
        Self::new(format!("field `{field}` {problem}"))
    }

    /// The answer or its tests cannot be read.
    pub(super) fn of_answer(words: String) -> Self {
        Self { words, has_answer: true }
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

impl BadRow {
    /// The error of a file of which this row leaves nothing to be used.
    pub(super) fn error(&self, path: &Path) -> FileError {
        let place = format_args!("{}{}", path.display(), self.place);
        FileError::at(place, shown(&self.problem.to_string(), LONGEST_PROBLEM))
    }
}

/// The error of a file without a question.
pub(super) fn no_questions(path: &Path) -> FileError {
    FileError::content(path, "no questions, expected at least one row")
}

/// The error of a file with bad rows, of `count` rows that were read.
pub(super) fn bad_rows(path: &Path, rows: &[BadRow], count: usize) -> FileError {
    if let [row] = rows {
        return row.error(path);
    }
    let listed: Vec<String> =
        rows.iter().take(LISTED).map(|row| row.error(path).to_string()).collect();
    let more = match rows.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    let (bad, listed) = (rows.len(), listed.join("\n  "));
    let problem = format!(
        "{bad} of {count} rows are invalid (bad_rows = \"drop\" leaves them out):\n  {listed}{more}"
    );
    FileError::content(path, problem)
}

/// The error of a file with questions that occur more than once, where that is not allowed.
pub(super) fn repeated(path: &Path, groups: &[Vec<RowPlace>]) -> FileError {
    let one = |group: &Vec<RowPlace>| {
        let numbers: Vec<String> =
            group.iter().take(LISTED).map(|place| place.number().to_string()).collect();
        format!("rows {}", numbers.join(" = "))
    };
    let listed: Vec<String> = groups.iter().take(LISTED).map(one).collect();
    let more = if groups.len() > LISTED { ", …" } else { "" };
    let problem = format!(
        "{} questions stand there more than once, expected each once where duplicates is \"error\": {}{more}",
        groups.len(),
        listed.join(", ")
    );
    FileError::content(path, problem)
}
