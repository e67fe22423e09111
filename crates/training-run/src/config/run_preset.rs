//! The published runs: `configs/presets`, embedded.

use toml::{Table, Value};

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
pub const RUN_PRESETS: [RunPreset; 8] = [
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
