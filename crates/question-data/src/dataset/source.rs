use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use whole_file::FileError;

use super::load::{QuestionSet, read_questions};
use super::question_file::QuestionFile;
use crate::arithmetic::{ArithmeticTask, Split};
use crate::ground_truth::RewardKinds;

/// Source of questions. A plain string in its place is read by [`DataSource::named`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(!remote, transform = or_text)]
#[serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DataSource {
    /// Rows of a file.
    File(QuestionFile),
    /// Generated arithmetic.
    Arithmetic(ArithmeticTask),
}

/// Lets the schema take a text, which [`DataSource::named`] reads.
fn or_text(schema: &mut Schema) {
    if let Some(Value::Array(alternatives)) = schema.get_mut("oneOf") {
        alternatives.push(json!({ "type": "string" }));
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
    /// Takes `"arithmetic"` for generated questions, any other name for a file; all settings have their defaults.
    pub fn named(name: &str) -> Self {
        match name {
            "arithmetic" => Self::Arithmetic(ArithmeticTask::default()),
            path => Self::File(QuestionFile::new(path)),
        }
    }

    /// Returns the questions of this source for one split, each answer read by the kind of its source. A file is one split and gives
    /// equal questions for both.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming file, row and field; an answer that does not fit the kind of its source is a bad row.
    pub fn load(&self, split: Split, kinds: &RewardKinds) -> Result<QuestionSet, FileError> {
        match self {
            Self::File(file) => read_questions(file, kinds),
            Self::Arithmetic(task) => {
                Ok(QuestionSet { questions: task.questions(split)?, ..QuestionSet::default() })
            }
        }
    }
}
