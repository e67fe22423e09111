//! One set as written, in a file or on the command line.

use question_data::dataset::{BadRows, DataSource, QuestionFile};
use question_data::ground_truth::RewardKind;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::error::SettingsError;
use super::sampling::SetSampling;

/// One set as written, with the fields of [`SetSampling`] for this set alone.
pub type SetEntry = EvaluationSet<Table>;

/// One set; `S` is its sampling, with every field resolved unless it is a table. The bound lets only a set as written be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "S: Into<Table> + Default + Deserialize<'de>"))]
pub struct EvaluationSet<S = SetSampling> {
    /// Name in the results: letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// Questions of the set; a path is relative to the file that names it.
    pub questions: DataSource,
    /// Comparison of a response with the known answer.
    #[serde(default)]
    pub kind: RewardKind,
    /// Sampling of responses.
    #[serde(default)]
    pub sampling: S,
}

impl SetEntry {
    /// Parses `NAME=FILE[:KEY=VALUE,...]`. Keys are those of [`SetSampling`], `n` for `samples`, `limit` and `bad_rows=drop` of
    /// the file, and `kind`.
    ///
    /// # Errors
    ///
    /// [`SettingsError`].
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let wrong = |problem: String| {
            let expected = "NAME=FILE[:KEY=VALUE,...] as aime24=aime24.jsonl:n=32,temperature=0.6";
            SettingsError(format!("--set {text:?}: {problem}, expected {expected}"))
        };
        let (name, rest) =
            text.split_once('=').ok_or_else(|| wrong("there is no `=`".to_owned()))?;
        // A colon may stand in a path: what follows the last one is options only if it has a value.
        let (path, options) = match rest.rsplit_once(':') {
            Some((path, options)) if options.contains('=') => (path, options),
            _ => (rest, ""),
        };
        if name.is_empty() || path.is_empty() {
            return Err(wrong("name or file is empty".to_owned()));
        }
        let (mut sampling, mut kind) = (Table::new(), RewardKind::default());
        let mut file = QuestionFile::new(path);
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (key, value) =
                option.split_once('=').ok_or_else(|| wrong(format!("{option:?} has no value")))?;
            let key = if key == "n" { "samples" } else { key };
            match (key, value) {
                ("kind", _) => kind = value.parse().map_err(&wrong)?,
                ("bad_rows", "drop") => file.bad_rows = BadRows::Drop,
                _ => {
                    let mut table: Table = toml::from_str(&format!("value = {value}"))
                        .map_err(|_| wrong(format!("{option:?} is no number")))?;
                    match table.remove("value") {
                        Some(Value::Integer(limit)) if key == "limit" => {
                            file.limit = usize::try_from(limit)
                                .map_err(|_| wrong(format!("{option:?} is negative")))?;
                        }
                        Some(value) if OPTIONS.contains(&key) => {
                            sampling.insert(key.to_owned(), value);
                        }
                        _ => return Err(wrong(format!("{key:?} is no option"))),
                    }
                }
            }
        }
        Ok(Self { name: name.to_owned(), questions: DataSource::File(file), kind, sampling })
    }
}

/// Fields of [`SetSampling`] that are one number.
const OPTIONS: [&str; 8] = [
    "samples",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_response_tokens",
    "entropy_floor",
    "entropy_ceiling",
];
