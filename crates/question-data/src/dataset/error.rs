//! Error of a data set that cannot be read or made.

use std::fmt;
use std::path::{Path, PathBuf};

use code_sandbox::UnitTestsError;
use messages::shown;
use thiserror::Error;
use whole_file::FileError;

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
    Read(#[from] FileError),
    /// The file name has no supported extension.
    #[error("{}: unknown kind of file, expected a name ending in {KINDS_OF_FILE}", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// No column, or no known one, holds the question or the answer.
    #[error("{}{place}: {}", path.display(), shown(problem, LONGEST_PROBLEM))]
    Columns {
        /// The file.
        path: PathBuf,
        /// The first row.
        place: RowPlace,
        /// Columns found, and expected ones.
        problem: String,
    },
    /// Rows without a question or a readable answer; all of them.
    #[error("{}", list_bad_rows(path, rows, *count))]
    Rows {
        /// The file.
        path: PathBuf,
        /// Bad rows, at least one.
        rows: Vec<BadRow>,
        /// Number of rows read.
        count: usize,
    },
    /// Questions occur more than once, and `duplicates` is `"error"`.
    #[error(
        "{}: {} questions stand there more than once, expected each once where duplicates is \"error\": {}",
        path.display(), groups.len(), list_groups(groups)
    )]
    Duplicates {
        /// The file.
        path: PathBuf,
        /// Rows of each such question.
        groups: Vec<Vec<RowPlace>>,
    },
    /// The file has no question.
    #[error("{}: no questions, expected at least one row", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// An arithmetic task cannot give the questions asked for.
    #[error("arithmetic: {problem}")]
    Arithmetic {
        /// Problem, and the expected value.
        problem: String,
    },
}

impl DatasetError {
    /// The file has no question.
    pub(super) fn empty(path: &Path) -> Self {
        Self::Empty { path: path.to_owned() }
    }

    /// The one row that was read is no question; nothing of the file can be used.
    pub(super) fn of_row(path: &Path, row: BadRow) -> Self {
        Self::Rows { path: path.to_owned(), rows: vec![row], count: 1 }
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

/// Problem of one row.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RowProblem {
    /// The line is no JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// Bytes are not UTF-8: most often a file in Latin-1.
    #[error(
        "byte {place} is 0x{byte:02X}, expected text in UTF-8 (`iconv -f latin1 -t utf-8` converts Latin-1)"
    )]
    NotUtf8 {
        /// Place in the line, or in the cell of a table, counted from 1.
        place: usize,
        /// The invalid byte.
        byte: u8,
    },
    /// A CSV row does not fit the header.
    #[error("the number of cells is {cells}, expected {columns} as in the header")]
    Cells {
        /// Cells of the row.
        cells: usize,
        /// Names in the header.
        columns: usize,
    },
    /// A field is absent, empty or of the wrong type.
    #[error("field `{field}` {problem}")]
    Field {
        /// Name of the field; dots lead inside.
        field: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// The answer exists, but the verifier cannot read it: no response could be right.
    #[error("answer {answer:?} cannot be read: {why}, expected one that reward-math can compare")]
    Answer {
        /// Answer as written in the file.
        answer: String,
        /// The verifier's error.
        why: reward_math::ParseError,
    },
    /// The answer of a programming task holds no unit tests.
    #[error("the tests cannot be read: {why}")]
    Tests {
        /// The parser's error.
        why: UnitTestsError,
    },
}

impl RowProblem {
    /// A field, whose dots lead inside, is absent, empty or of the wrong type.
    pub(super) fn of_field(field: &str, problem: impl Into<String>) -> Self {
        Self::Field { field: field.to_owned(), problem: problem.into() }
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

fn list_bad_rows(path: &Path, rows: &[BadRow], count: usize) -> String {
    let one = |row: &BadRow| {
        let problem = shown(&row.problem.to_string(), LONGEST_PROBLEM);
        format!("{}{}: {problem}", path.display(), row.place)
    };
    if let [row] = rows {
        return one(row);
    }
    let listed: Vec<String> = rows.iter().take(LISTED).map(one).collect();
    let more = match rows.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    let bad = rows.len();
    format!(
        "{}: {bad} of {count} rows are invalid (bad_rows = \"drop\" leaves them out):\n  {}{more}",
        path.display(),
        listed.join("\n  ")
    )
}

fn list_groups(groups: &[Vec<RowPlace>]) -> String {
    let one = |group: &Vec<RowPlace>| {
        let numbers: Vec<String> =
            group.iter().take(LISTED).map(|place| place.number().to_string()).collect();
        format!("rows {}", numbers.join(" = "))
    };
    let listed: Vec<String> = groups.iter().take(LISTED).map(one).collect();
    let more = if groups.len() > LISTED { ", …" } else { "" };
    listed.join(", ") + more
}
