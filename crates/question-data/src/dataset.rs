//! Questions with known answers, from files or made up.

mod csv_rows;
mod error;
mod layout;
mod load;
mod parquet_rows;
mod rows;

use std::fmt;
use std::path::PathBuf;

use model_files::chat_template::Message;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use error::{BadRow, DatasetError, RowPlace, RowProblem};
pub use layout::Layout;
pub(crate) use load::same_answer;
pub use load::{
    QuestionSet, ReadRow, ReadRows, read_questions, read_questions_for, read_rows, read_rows_for,
};

use crate::arithmetic::{ArithmeticTask, Split};
use crate::ground_truth::RewardKinds;

/// Kinds of file that can be read, for messages.
pub const KINDS_OF_FILE: &str = ".jsonl, .jsonl.zst, .json, .csv or .parquet";

/// A question with its known answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Name of the row; unique within its source where the file's own `id` is.
    pub id: String,
    /// What is asked: the last user's turn.
    pub problem: String,
    /// The ground truth.
    pub answer: String,
    /// Name of the data set, used in metric names.
    pub source: String,
    /// Turns before the last user's, of rows that are conversations; mostly empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Message>,
}

/// Where questions come from. A text in its place is read by [`DataSource::named`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DataSource {
    /// Rows of a file.
    File(QuestionFile),
    /// Made-up arithmetic.
    Arithmetic(ArithmeticTask),
}

/// A file of questions: JSON lines, a JSON list, or a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionFile {
    /// `.jsonl`, `.jsonl.zst`, `.json`, `.csv` or `.parquet`.
    pub path: PathBuf,
    /// Column that holds the problem, dots lead inside; empty takes the one that [`Layout`] finds.
    #[serde(default)]
    pub problem_field: String,
    /// Column that holds the answer, dots lead inside; empty takes the one that [`Layout`] finds.
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

impl Question {
    /// Everything that is asked: the turns of the conversation without the system's, one a line.
    pub fn text(&self) -> String {
        let turns = self.context.iter().filter(|turn| turn.role != "system");
        let mut text: String = turns.flat_map(|turn| [turn.content.as_str(), "\n"]).collect();
        text.push_str(&self.problem);
        text
    }
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

impl Serialize for DataSource {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for DataSource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = DataSource;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the name of a file, \"arithmetic\", or a table of one of them and its settings",
        )
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<DataSource, E> {
        Ok(DataSource::named(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<DataSource, A::Error> {
        DataSource::deserialize(MapAccessDeserializer::new(table))
    }
}

impl DataSource {
    /// `"arithmetic"` is made-up questions, anything else a file; all settings have their defaults.
    pub fn named(name: &str) -> Self {
        match name {
            "arithmetic" => Self::Arithmetic(ArithmeticTask::default()),
            path => Self::File(QuestionFile::new(path)),
        }
    }

    /// The questions of this source for one split. A file is one split and gives the same for both.
    ///
    /// # Errors
    ///
    /// [`DatasetError`], naming file, row and field.
    pub fn questions(&self, split: Split) -> Result<Vec<Question>, DatasetError> {
        Ok(self.load(split)?.questions)
    }

    /// As [`DataSource::questions`], with what was left out.
    ///
    /// # Errors
    ///
    /// As for [`DataSource::questions`].
    pub fn load(&self, split: Split) -> Result<QuestionSet, DatasetError> {
        self.load_for(split, &RewardKinds::default())
    }

    /// As [`DataSource::load`], for answers that are not all mathematics.
    ///
    /// # Errors
    ///
    /// As for [`DataSource::questions`]; an answer that is none of the kind of its source is a bad row.
    pub fn load_for(&self, split: Split, kinds: &RewardKinds) -> Result<QuestionSet, DatasetError> {
        match self {
            Self::File(file) => read_questions_for(file, kinds),
            Self::Arithmetic(task) => task.questions(split).map(QuestionSet::of),
        }
    }
}
