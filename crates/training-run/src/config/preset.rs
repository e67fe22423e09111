//! A published run, by name.

use messages::Problem;
use toml::Table;

use super::load::{apply_all, from_table};
use super::run_preset::{RUN_PRESETS, RunPreset};
use super::{ConfigError, Run, RunConfig};

/// Fields that a preset leaves open: what they are, and what stands in while everything else is checked.
const OPEN: [(&str, &str, &str); 2] = [
    ("model.path", "a Hugging Face model directory: --set model.path=DIR", "model.path=open"),
    ("data.train", "questions: --set data.train=FILE", "data.train.arithmetic={}"),
];

/// The preset of that name.
///
/// # Errors
///
/// [`ConfigError::UnknownPreset`], with those whose names begin so, or all.
pub fn preset(name: &str) -> Result<&'static RunPreset, ConfigError> {
    static PRESETS: [RunPreset; 8] = RUN_PRESETS;
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let mut known: Vec<&RunPreset> = PRESETS.iter().collect();
        if PRESETS.iter().any(|preset| preset.name.starts_with(name)) {
            known.retain(|preset| preset.name.starts_with(name));
        }
        ConfigError::UnknownPreset { name: name.to_owned(), known }
    })
}

impl Run {
    /// A published run with overrides as `key.path=value`; its paths are relative to the working directory.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: an unknown name, an override that cannot be applied, or all fields at once that are missing
    /// or out of range.
    pub fn from_preset(name: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        let mut table = preset(name)?.table();
        apply_all(&mut table, overrides)?;
        let mut missing = Vec::new();
        for (field, expected, stand_in) in OPEN {
            if !has(&table, field) {
                let (field, expected) = (field.to_owned(), expected.to_owned());
                missing.push(Problem { field, value: "missing".to_owned(), expected });
                apply_all(&mut table, &[stand_in.to_owned()])?;
            }
        }
        let config: RunConfig = from_table(table).map_err(|message| ConfigError::Override {
            argument: overrides.join(" --set "),
            message,
        })?;
        let origin = format!("--preset {name}");
        match config.resolve() {
            Ok(run) if missing.is_empty() => Ok(run),
            Ok(_) => Err(ConfigError::Invalid { origin, problems: missing }),
            Err(ConfigError::Invalid { problems, .. }) => {
                missing.extend(problems);
                Err(ConfigError::Invalid { origin, problems: missing })
            }
            Err(other) => Err(other),
        }
    }
}

fn has(table: &Table, path: &str) -> bool {
    let mut keys = path.split('.');
    let first = keys.next().and_then(|key| table.get(key));
    keys.fold(first, |value, key| value?.get(key)).is_some()
}
