//! Why a configuration does not become a run.

use std::path::PathBuf;

use messages::Problem;
use thiserror::Error;

use super::run_preset::RunPreset;

/// Why a configuration does not become a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not there or cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The name of the file says that it is YAML.
    #[error(
        "{}: is YAML, expected TOML; docs/configuration.md has an example and, for verl's keys, the names here",
        path.display()
    )]
    Yaml {
        /// The file.
        path: PathBuf,
    },
    /// The file is not TOML, or a key or type in it is wrong.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// Fault and expectation.
        message: String,
    },
    /// A `--set` cannot be applied.
    #[error("--set {argument}: {message}")]
    Override {
        /// Override as given.
        argument: String,
        /// Fault and expectation.
        message: String,
    },
    /// No published run has this name.
    #[error("--preset{}, expected one of{}", no_preset(name), list_presets(known))]
    UnknownPreset {
        /// Name as given; may be empty.
        name: String,
        /// Those whose names begin so, or all.
        known: Vec<&'static RunPreset>,
    },
    /// Values are out of range or contradict each other; all of them, one a line.
    #[error("{origin}: {}", list(problems))]
    Invalid {
        /// The file, or the name of the run.
        origin: String,
        /// At least one.
        problems: Vec<Problem>,
    },
}

fn no_preset(name: &str) -> String {
    match name {
        "" => " has no name".to_owned(),
        name => format!(" {name}: there is no published run of that name"),
    }
}

fn list_presets(presets: &[&RunPreset]) -> String {
    let line = |preset: &&RunPreset| format!("\n  {:24}{}", preset.name, preset.about());
    presets.iter().map(line).collect()
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n  ")
}
