//! The published runs, by name: `configs/presets`, embedded.

use toml::{Table, Value};

use super::error::Problems;
use super::field::value_at;
use super::load::{apply_all, from_table};
use super::{ConfigError, Run, RunConfig};

/// A published run: everything but the model and the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPreset {
    /// Its name, and that of the run.
    pub name: &'static str,
    /// Differences from [`SHARED_PRESET`] as TOML, each value with its source beside it.
    pub text: &'static str,
}

/// Values that all presets share, as TOML, each value with its source beside it.
pub const SHARED_PRESET: &str = include_str!("../../../../configs/presets/shared.toml");

macro_rules! preset {
    ($name:literal) => {
        RunPreset {
            name: $name,
            text: include_str!(concat!("../../../../configs/presets/", $name, ".toml")),
        }
    };
}

/// Every published run.
pub static RUN_PRESETS: [RunPreset; 8] = [
    preset!("qwen2.5-7b-grpo"),
    preset!("qwen2.5-7b-clip-higher"),
    preset!("qwen2.5-7b-clip-cov"),
    preset!("qwen2.5-7b-kl-cov"),
    preset!("qwen2.5-32b-grpo"),
    preset!("qwen2.5-32b-clip-higher"),
    preset!("qwen2.5-32b-clip-cov"),
    preset!("qwen2.5-32b-kl-cov"),
];

impl RunPreset {
    /// Title of the published run: the first line of its file.
    pub fn about(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches("# ").split(". ").next().unwrap_or_default()
    }

    /// Its values over the shared ones.
    pub(super) fn table(&self) -> Table {
        let parse = |text: &str| text.parse::<Table>().expect("every preset is tested to be TOML");
        let mut table = parse(SHARED_PRESET);
        overlay(&mut table, parse(self.text));
        table
    }
}

fn overlay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => overlay(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Fields that a preset leaves open: what they are, and what stands in while everything else is checked.
const OPEN: [(&str, &str, &str); 2] = [
    ("model.path", "a Hugging Face model directory: --set model.path=DIR", "model.path=open"),
    ("data.train", "questions: --set data.train=FILE", "data.train.arithmetic={}"),
];

/// The preset of that name.
///
/// # Errors
///
/// [`ConfigError`], with the presets whose names begin so, or all.
pub fn preset(name: &str) -> Result<&'static RunPreset, ConfigError> {
    RUN_PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let is_near = |preset: &&RunPreset| preset.name.starts_with(name);
        let all = !RUN_PRESETS.iter().any(|preset| is_near(&preset));
        let known = RUN_PRESETS.iter().filter(|preset| all || is_near(preset));
        let line = |preset: &RunPreset| format!("\n  {:24}{}", preset.name, preset.about());
        let known: String = known.map(line).collect();
        let given = match name {
            "" => " has no name".to_owned(),
            name => format!(" {name}: there is no published run of that name"),
        };
        ConfigError(format!("--preset{given}, expected one of{known}"))
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
        let mut problems = Problems::default();
        for (field, expected, stand_in) in OPEN {
            if value_at(&table, field).is_none() {
                problems.add(field, "missing", expected);
                apply_all(&mut table, &[stand_in.to_owned()])?;
            }
        }
        let config: RunConfig = from_table(table)
            .map_err(|message| ConfigError::of_override(&overrides.join(" --set "), &message))?;
        match config.checked() {
            Ok(run) if problems.0.is_empty() => Ok(run),
            run => {
                problems.0.extend(run.err().unwrap_or_default());
                Err(ConfigError::invalid(format_args!("--preset {name}"), &problems.0))
            }
        }
    }
}
