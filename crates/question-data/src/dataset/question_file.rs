//! Settings for reading a file of questions.

use std::path::{Path, PathBuf};

use model_files::hub_name::HubName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of questions: JSON lines, a JSON list, or a table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionFile {
    /// File of questions: `.jsonl`, `.jsonl.zst`, a list in `.json`, or a table in `.csv` or
    /// `.parquet`; or a data set of the hub, `"openai/gsm8k:main/train"`
    /// (`docs/data.md#names-of-the-hub`).
    pub path: PathBuf,
    /// Files that `path` names, in order, where it is a data set of the hub; else empty.
    #[serde(skip)]
    pub located: Vec<PathBuf>,
    /// Column of the problem; empty takes `problem`, `question`, `prompt` or `messages`. It holds
    /// text, or turns that end in the user's; dots lead inside.
    #[serde(default)]
    pub problem_field: String,
    /// Column of the answer; empty takes `answer`, `reward_model.ground_truth` or `ground_truth`.
    /// It holds text, a number, or a solution that ends in `#### answer`. `messages` without any of
    /// them are answered in their last turn.
    #[serde(default)]
    pub answer_field: String,
    /// Good rows to read, from the first; 0 reads all.
    #[serde(default)]
    pub limit: usize,
    /// Treatment of rows without question or readable answer: `"error"` lists all and refuses the
    /// file, `"drop"` skips and counts them.
    #[serde(default)]
    pub bad_rows: BadRows,
    /// Treatment of a repeated question: `"keep"`, `"drop"` (the first stays; none if answers
    /// differ) or `"error"`.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// Treatment of a row without a question, or without an answer that the verifier can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BadRows {
    /// The file is refused, with all such rows in one message.
    #[default]
    Error,
    /// The row is left out, and counted.
    Drop,
}

/// Treatment of a question that occurs in a file more than once ([`question_key`](crate::question_key)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
        Self { path: path.into(), ..Self::default() }
    }

    /// The files with the rows, in order.
    pub fn files(&self) -> &[PathBuf] {
        if self.located.is_empty() { std::slice::from_ref(&self.path) } else { &self.located }
    }

    /// Name of the data set, the default source of its rows: that of the repository, or of the file up to the first dot.
    pub(super) fn stem(&self) -> String {
        let name = self.path.to_str().and_then(HubName::parse).filter(|_| !self.located.is_empty());
        let name = name.and_then(|name| Some(name.repository.split_once('/')?.1.to_owned()));
        let of_file = |path: &Path| {
            let name = path.file_name()?.to_string_lossy();
            Some(name.split('.').next()?.to_owned())
        };
        name.or_else(|| of_file(&self.path)).unwrap_or_default()
    }
}
