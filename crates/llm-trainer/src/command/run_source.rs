//! Which run a command is about, as arguments.

use std::path::{Path, PathBuf};

use anyhow::Context;
use hub_files::ModelParts;
use training_run::config::{Commits, Run};

use super::hub_names;

/// A run: a file or a published one, and what is changed in it.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunSource {
    /// TOML file of the run, with paths relative to its folder; `docs/configuration.md` lists every field
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: RunOptions,
}

impl RunSource {
    /// Reads the run, checks it, and locates the `parts` of models that are names of the hub, at the commits that `recorded` returns
    /// for the run.
    pub(super) fn read(
        &self,
        parts: ModelParts,
        recorded: impl FnOnce(&Run) -> anyhow::Result<Commits>,
    ) -> anyhow::Result<Run> {
        let run = self.options.read(self.config.as_deref(), &[])?;
        let run = run.context("no run, expected a TOML file or --preset NAME")?;
        let commits = recorded(&run)?;
        hub_names::of_run(run, parts, &commits)
    }
}

/// A run as far as options say it.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunOptions {
    /// Published run instead of a file, such as qwen2.5-7b-kl-cov; training needs --set model.path=DIR --set
    /// data.train=FILE too; without a name, list the published runs [default: none]
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub(super) preset: Option<String>,
    /// Set one field of the run, as in `--set training.steps=10`; a path given here is relative to the working directory;
    /// may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
}

impl RunOptions {
    /// Reads the run of `config`, or the published one; to this one `defaults` are set before what the reader sets. `None` where
    /// neither is named.
    pub(super) fn read(
        &self,
        config: Option<&Path>,
        defaults: &[String],
    ) -> anyhow::Result<Option<Run>> {
        Ok(match (config, &self.preset) {
            (Some(path), _) => Some(Run::load(path, &self.overrides)?),
            (None, Some(name)) => {
                Some(Run::from_preset(name, &[defaults, &self.overrides].concat())?)
            }
            (None, None) => None,
        })
    }
}
