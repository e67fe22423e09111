//! Why questions cannot be had.

use std::fmt;
use std::path::PathBuf;

use code_sandbox::UnitTestsError;
use thiserror::Error;

/// Kinds of file that can be read, for messages.
pub const KINDS_OF_FILE: &str = ".jsonl, .jsonl.zst, .json, .csv or .parquet";

/// Most rows that a message lists.
const LISTED: usize = 10;

/// Why questions cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The file is not there or cannot be read or unpacked.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name does not end in what this crate can read.
    #[error("{}: unknown kind of file, expected a name ending in {KINDS_OF_FILE}", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// No column, or no known one, holds the question or the answer.
    #[error("{}{place}: {problem}", path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// The first row.
        place: RowPlace,
        /// What was found and what was expected.
        problem: String,
    },
    /// Rows without a question or a readable answer; all of them.
    #[error("{}", list_bad_rows(path, rows, *of))]
    Rows {
        /// The file.
        path: PathBuf,
        /// At least one.
        rows: Vec<BadRow>,
        /// Rows read in all.
        of: usize,
    },
    /// Questions stand there more than once, and `duplicates` is `"error"`.
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
    /// There is not a single question.
    #[error("{}: no questions, expected at least one row", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A made-up task cannot give the questions asked for.
    #[error("arithmetic: {problem}")]
    Arithmetic {
        /// What is wrong and what was expected.
        problem: String,
    },
}

/// Where a row stands, counted from 1. Prints as what follows the file's name: `:7` or `: row 7`.
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
}

impl fmt::Display for RowPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(formatter, ":{number}"),
            Self::Row(number) => write!(formatter, ": row {number}"),
        }
    }
}

/// What is wrong with one row.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RowProblem {
    /// The line is no JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// Bytes that are no text: most often a file in Latin-1.
    #[error(
        "byte {place} is 0x{byte:02X}, expected text in UTF-8 (`iconv -f latin1 -t utf-8` converts Latin-1)"
    )]
    NotUtf8 {
        /// Place in the line, or in the cell of a table, counted from 1.
        place: usize,
        /// The byte.
        byte: u8,
    },
    /// A row of CSV does not fit the header.
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
        /// Its name; dots lead inside.
        field: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// The answer is there, but the verifier cannot read it: no response could ever be right.
    #[error("answer {answer:?} cannot be read: {why}, expected one that reward-math can compare")]
    Answer {
        /// As it stands in the file.
        answer: String,
        /// What the verifier says.
        why: reward_math::ParseError,
    },
    /// The answer of a programming task is no unit tests.
    #[error("the tests cannot be read: {why}")]
    Tests {
        /// What was found and what was expected.
        why: UnitTestsError,
    },
}

/// A row that is no question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// Where it stands.
    pub place: RowPlace,
    /// What is wrong with it.
    pub problem: RowProblem,
}

fn list_bad_rows(path: &std::path::Path, rows: &[BadRow], of: usize) -> String {
    let one = |row: &BadRow| format!("{}{}: {}", path.display(), row.place, row.problem);
    if let [row] = rows {
        return one(row);
    }
    let listed: Vec<String> = rows.iter().take(LISTED).map(one).collect();
    let more = match rows.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    let count = rows.len();
    format!(
        "{}: {count} of {of} rows are invalid (bad_rows = \"drop\" leaves them out):\n  {}{more}",
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
