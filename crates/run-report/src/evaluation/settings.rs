//! Settings of an evaluation: its sets, and their sampling.

mod error;
mod sampling;
mod set_entry;

use std::collections::BTreeSet;
use std::path::Path;

use messages::plain_words;
use model_files::hub_name::HubName;
use question_data::dataset::DataSource;
use question_data::ground_truth::RewardKind;
use question_data::prompt::PromptFormat;
use reward_math::Options;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use whole_file::{LONGEST_TEXT_BYTES, read_text_at_most};

pub use error::SettingsError;
pub use sampling::SetSampling;
pub use set_entry::SetEntry;

use error::fault;

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

/// One set, with every field resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSet {
    /// Name of the set.
    pub name: String,
    /// Questions of the set.
    pub questions: DataSource,
    /// Comparison of a response with the known answer.
    pub kind: RewardKind,
    /// Sampling of responses.
    pub sampling: SetSampling,
}

impl EvaluationFile {
    /// Reads a TOML file; paths in it become relative to its folder.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Read`] or [`SettingsError::Toml`].
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        let text = read_text_at_most(path, LONGEST_TEXT_BYTES)
            .map_err(|source| SettingsError::Read { path: path.to_path_buf(), source })?;
        let wrong = |error: toml::de::Error| {
            let problem = plain_words(error.to_string().trim_end());
            SettingsError::Toml { path: path.to_path_buf(), problem }
        };
        let mut file: Self = toml::from_str(&text).map_err(wrong)?;
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
            return Err(SettingsError::Sets(fault));
        }
        let resolve = |entry: &SetEntry| {
            let mut fields = Table::new();
            for table in [&self.sampling, overrides, &entry.sampling] {
                fields.extend(table.clone());
            }
            let sampling: SetSampling =
                Value::Table(fields).try_into().map_err(|error: toml::de::Error| {
                    let problem = plain_words(error.message());
                    SettingsError::Sampling { set: entry.name.clone(), problem }
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
        return Err(SettingsError::Sets(problem.to_owned()));
    }
    let mut seen = BTreeSet::new();
    for SetEntry { name, .. } in sets {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let expected = "letters, digits, `.`, `_`, `-`, not beginning with a `.`";
            return Err(fault(name, "name", format!("{name:?}"), expected));
        }
        if !seen.insert(name) {
            let problem = format!("two sets are named `{name}`, expected different names");
            return Err(SettingsError::Sets(problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use question_data::dataset::{BadRows, QuestionFile};

    use super::*;

    fn sets(file: &str, arguments: &[&str], overrides: &str) -> Result<Vec<EvaluationSet>, String> {
        let mut file: EvaluationFile = toml::from_str(file).map_err(|error| error.to_string())?;
        for text in arguments {
            file.sets.push(SetEntry::parse(text).map_err(|error| error.to_string())?);
        }
        let overrides: Table = toml::from_str(overrides).unwrap();
        file.resolve(&overrides).map_err(|error| error.to_string())
    }

    fn file(set: &EvaluationSet) -> &QuestionFile {
        let DataSource::File(file) = &set.questions else { panic!("{set:?} has no file") };
        file
    }

    #[test]
    fn a_set_is_read_from_the_command_line() {
        let text = "aime=a:b/c.jsonl:n=32,temperature=0.6,top_k=5,limit=7,kind=multiple-choice";
        let set = &sets("", &[text], "").unwrap()[0];
        assert_eq!((set.name.as_str(), set.kind), ("aime", RewardKind::MultipleChoice));
        assert_eq!((file(set).path.as_path(), file(set).limit), (Path::new("a:b/c.jsonl"), 7));
        let expected =
            SetSampling { samples: 32, temperature: 0.6, top_k: 5, ..SetSampling::default() };
        assert_eq!(set.sampling, expected);
        let plain = &sets("", &["x=C:\\x.jsonl:bad_rows=drop"], "").unwrap()[0];
        assert_eq!(file(plain).path, Path::new("C:\\x.jsonl"));
        assert_eq!(file(plain).bad_rows, BadRows::Drop);
    }

    #[test]
    fn a_set_has_the_last_word_then_the_options_then_the_file() {
        let file = "sampling = { samples = 2, temperature = 0.3, top_p = 0.9 }\n[[set]]\nname = \"a\"\n\
                    questions = { file = { path = \"a.jsonl\" } }\nsampling = { samples = 8 }";
        let resolved =
            sets(file, &["b=b.jsonl:temperature=1"], "temperature = 0.5\nsamples = 4").unwrap();
        let values: Vec<(usize, f64, f64)> = resolved
            .iter()
            .map(|set| (set.sampling.samples, set.sampling.temperature, set.sampling.top_p))
            .collect();
        assert_eq!(values, [(8, 0.5, 0.9), (4, 1.0, 0.9)]);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        let refused = |text: &str| sets("", &[text], "").unwrap_err();
        let cases = [
            ("x", "there is no `=`"),
            ("=f", "name or file is empty"),
            ("x=f:m=2", "\"m\" is no option"),
            ("x=f:n=two", "\"n=two\" is no number"),
            ("x=f:n=1,temperature", "\"temperature\" has no value"),
            ("x=f:n=0", "set `x`: samples is 0, expected 1 to 1000"),
            (
                "x=f:n=4",
                "set `x`: temperature is 0, expected above 0 with 4 samples, which would all be the same",
            ),
            ("x=f:temperature=-1", "set `x`: temperature is -1, expected 0 or at least 0.000001"),
            ("x=f:top_p=0", "set `x`: top_p is 0, expected above 0 and at most 1"),
            ("x=f:min_p=1", "set `x`: min_p is 1, expected at least 0 and below 1"),
            ("x=f:max_response_tokens=0", "set `x`: max_response_tokens is 0, expected at least 1"),
            (
                "x=f:entropy_floor=1",
                "set `x`: temperature is 0, expected above 0 with an entropy band",
            ),
            ("x=f:temperature=1,entropy_floor=-1", "entropy floor` is -1"),
            ("a/b=f", "set `a/b`: name is \"a/b\", expected letters, digits"),
        ];
        for (text, expected) in cases {
            let message = refused(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
        let twice = sets("", &["x=f", "x=g"], "").unwrap_err();
        assert_eq!(twice, "two sets are named `x`, expected different names");
        assert_eq!(
            sets("", &[], "").unwrap_err(),
            "no set, expected --set NAME=FILE or [[set]] in a file"
        );
        let unknown = sets("sampling = { heat = 1 }", &["x=f"], "").unwrap_err();
        assert!(unknown.starts_with("set `x`: unknown field `heat`"), "{unknown}");
        let wrong = sets("sampling = { temperature = \"hot\" }", &["x=f"], "").unwrap_err();
        assert_eq!(wrong, "set `x`: invalid type: string \"hot\", expected a number");
    }
}
