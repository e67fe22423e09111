//! A file of questions, as it is to be read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A file of questions: JSON lines, a JSON list, or a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionFile {
    /// `.jsonl`, `.jsonl.zst`, `.json`, `.csv` or `.parquet`.
    pub path: PathBuf,
    /// Column that holds the problem, dots lead inside; empty takes the one that [`Layout`](super::Layout) finds.
    #[serde(default)]
    pub problem_field: String,
    /// Column that holds the answer, dots lead inside; empty takes the one that [`Layout`](super::Layout) finds.
    #[serde(default)]
    pub answer_field: String,
    /// Read only the first so many good rows; 0 reads all.
    #[serde(default)]
    pub limit: usize,
    /// What a row without question or readable answer does.
    #[serde(default)]
    pub bad_rows: BadRows,
    /// What a question that stands there more than once does.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// What a row without a question, or without an answer that the verifier can read, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadRows {
    /// The file is refused, with all such rows in one message.
    #[default]
    Error,
    /// The row is left out, and counted.
    Drop,
}

/// What a question that stands in a file more than once does ([`question_key`](crate::question_key)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// It stays, and is counted.
    #[default]
    Keep,
    /// The first stays. Where the answers differ, none does: one of them is wrong.
    Drop,
    /// The file is refused.
    Error,
}

impl QuestionFile {
    /// All of `path`, columns recognised.
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
