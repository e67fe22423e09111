//! Settings for reading a file of questions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A file of questions: JSON lines, a JSON list, or a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionFile {
    /// `.jsonl`, `.jsonl.zst`, `.json`, `.csv` or `.parquet`.
    pub path: PathBuf,
    /// Column of the problem, dots lead inside; empty takes the one that [`Layout`](super::Layout) finds.
    #[serde(default)]
    pub problem_field: String,
    /// Column of the answer, dots lead inside; empty takes the one that [`Layout`](super::Layout) finds.
    #[serde(default)]
    pub answer_field: String,
    /// Number of good rows to read, from the start; 0 reads all.
    #[serde(default)]
    pub limit: usize,
    /// Treatment of a row without question or readable answer.
    #[serde(default)]
    pub bad_rows: BadRows,
    /// Treatment of repeated questions.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// Treatment of a row without a question, or without an answer that the verifier can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadRows {
    /// The file is refused, with all such rows in one message.
    #[default]
    Error,
    /// The row is left out, and counted.
    Drop,
}

/// Treatment of a question that occurs in a file more than once ([`question_key`](crate::question_key)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Keeps the question, and counts it.
    #[default]
    Keep,
    /// Keeps the first. If the answers differ, none stays: one of them is wrong.
    Drop,
    /// Refuses the file.
    Error,
}

impl QuestionFile {
    /// Reads all of `path`; columns are recognised.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            problem_field: String::new(),
            answer_field: String::new(),
            limit: 0,
            bad_rows: BadRows::default(),
            duplicates: Duplicates::default(),
        }
    }
}
