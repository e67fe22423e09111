//! Settings of an evaluation: its sets, and their sampling.

mod error;
mod sampling;
mod set_entry;

use std::collections::BTreeSet;
use std::path::Path;

use messages::{in_file, plain_words};
use model_files::hub_name::HubName;
use question_data::dataset::DataSource;
use question_data::prompt::PromptFormat;
use reward_math::Options;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use whole_file::{FileError, LONGEST_TEXT_BYTES, read_text_at_most};

pub use error::SettingsError;
pub use sampling::SetSampling;
pub use set_entry::{EvaluationSet, SetEntry};

use super::bootstrap::Bootstrap;

/// An evaluation as written, in TOML: `[sampling]` for all sets, and `[[set]]` one each.
///
/// ```toml
/// [sampling]
/// samples = 4
/// temperature = 0.6
///
/// [[set]]
/// name = "aime24"
/// questions = { file = { path = "aime24.jsonl" } }
/// sampling = { samples = 32 }
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationFile {
    /// Seed of the sampling noise.
    pub seed: u64,
    /// Fields of [`SetSampling`] for the sets that do not give them.
    pub sampling: Table,
    /// Prompt format; if absent, that of the run, or the default of [`PromptFormat`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptFormat>,
    /// Extraction and reading of answers.
    pub grading: Options,
    /// Settings of the bootstrap.
    pub bootstrap: Bootstrap,
    /// The sets.
    #[serde(rename = "set")]
    pub sets: Vec<SetEntry>,
}

impl EvaluationFile {
    /// Reads a TOML file; paths in it become relative to its folder.
    ///
    /// # Errors
    ///
    /// [`SettingsError`], naming the file.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        let wrong = |error: FileError| SettingsError(error.to_string());
        let text = read_text_at_most(path, LONGEST_TEXT_BYTES)
            .map_err(|error| wrong(FileError::of(path, "read")(error)))?;
        let mut file: Self = toml::from_str(&text).map_err(|error| {
            SettingsError(in_file(path, &text, error.span(), plain_words(error.message())))
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for set in &mut file.sets {
            if let DataSource::File(file) = &mut set.questions
                && HubName::of_path(&file.path, folder).is_none()
            {
                file.path = folder.join(&file.path);
            }
        }
        Ok(file)
    }

    /// Fills in and checks the fields of all sets: `[sampling]` first, then `overrides`, then the set's own.
    ///
    /// # Errors
    ///
    /// [`SettingsError`], naming set and field.
    pub fn resolve(&self, overrides: &Table) -> Result<Vec<EvaluationSet>, SettingsError> {
        check_names(&self.sets)?;
        if let Some(fault) = self.bootstrap.fault() {
            return Err(SettingsError(fault));
        }
        let resolve = |entry: &SetEntry| {
            let mut fields = Table::new();
            for table in [&self.sampling, overrides, &entry.sampling] {
                fields.extend(table.clone());
            }
            let sampling: SetSampling =
                Value::Table(fields).try_into().map_err(|error: toml::de::Error| {
                    SettingsError::of_set(&entry.name, plain_words(error.message()))
                })?;
            sampling.check(&entry.name)?;
            let SetEntry { name, questions, kind, .. } = entry.clone();
            Ok(EvaluationSet { name, questions, kind, sampling })
        };
        self.sets.iter().map(resolve).collect()
    }
}

/// Checks that names suit files and columns, and are unique.
fn check_names(sets: &[SetEntry]) -> Result<(), SettingsError> {
    if sets.is_empty() {
        let problem = "no set, expected --set NAME=FILE or [[set]] in a file";
        return Err(SettingsError(problem.to_owned()));
    }
    let mut seen = BTreeSet::new();
    for SetEntry { name, .. } in sets {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let expected = "letters, digits, `.`, `_`, `-`, not beginning with a `.`";
            let problem = format!("name is {name:?}, expected {expected}");
            return Err(SettingsError::of_set(name, problem));
        }
        if !seen.insert(name) {
            let problem = format!("two sets are named `{name}`, expected different names");
            return Err(SettingsError(problem));
        }
    }
    Ok(())
}
