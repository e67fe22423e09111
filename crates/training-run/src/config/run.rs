//! A checked configuration, and the files that names of the hub in it stand for.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use model_files::hub_name::{HubName, Snapshot};
use model_files::model_place;
use question_data::dataset::KINDS_OF_FILE;
use serde::Serialize;

use super::error::Problems;
use super::{ConfigError, ModelSection, OptimizerSection, RunConfig};
use crate::schedule::Schedule;

/// A checked configuration: the only thing a trainer starts from.
///
/// Paths are absolute or relative to the working directory, every value is in range.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Run {
    pub(super) config: RunConfig,
    /// The configuration with its names of the hub, and their commits, where `config` has the cache's directories.
    #[serde(skip)]
    pub(super) named: Option<Box<(RunConfig, Commits)>>,
}

impl Run {
    /// Reads, overrides and checks a file. Its paths are relative to its own folder, those of `overrides` to the working
    /// directory.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], naming the file.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let config = RunConfig::load(path, overrides)?;
        config.checked().map_err(|problems| ConfigError::invalid(path.display(), &problems))
    }

    /// The checked values.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The checked values with names of the hub, as a run's record keeps them.
    pub fn written(&self) -> &RunConfig {
        self.named.as_ref().map_or(&self.config, |named| &named.0)
    }

    /// Commits of the names of the hub, once they are located.
    pub fn commits(&self) -> &Commits {
        static NONE: Commits = Commits::new();
        self.named.as_ref().map_or(&NONE, |named| &named.1)
    }

    /// Replaces names of the hub by their directories and files in its cache; `locate` finds or downloads them.
    ///
    /// # Errors
    ///
    /// Those of `locate`.
    pub fn located<E>(
        mut self,
        locate: impl FnMut(HubFile<'_>) -> Result<Snapshot, E>,
    ) -> Result<Self, E> {
        let written = self.config.clone();
        let commits = self.config.locate(locate)?;
        if !commits.is_empty() {
            self.named = Some(Box::new((written, commits)));
        }
        Ok(self)
    }

    /// The folder of the run.
    pub fn output_directory(&self) -> PathBuf {
        PathBuf::from(self.config.output_directory.replace("{name}", &self.config.name))
    }

    /// Optimiser steps in one training step, where no group is dropped.
    pub fn optimizer_steps_per_step(&self) -> u64 {
        let mini_batches =
            self.config.rollout.prompts_per_step / self.config.algorithm.mini_batch_prompts;
        (mini_batches * self.config.algorithm.epochs) as u64
    }

    /// Factor on the learning rate of each optimiser step of the run.
    pub fn schedule(&self) -> Schedule {
        self.schedule_of(&self.config.optimizer, self.optimizer_steps_per_step())
    }

    /// Factor on the learning rate of each optimiser step of the reward model, if there is one.
    pub fn reward_model_schedule(&self) -> Option<Schedule> {
        let section = self.config.reward_model.as_ref()?;
        let steps = section.optimizer_steps_per_step(self.config.rollout.prompts_per_step) as u64;
        Some(self.schedule_of(&section.optimizer, steps))
    }

    fn schedule_of(&self, optimizer: &OptimizerSection, steps_per_step: u64) -> Schedule {
        let total_steps = self.config.training.steps.saturating_mul(steps_per_step);
        let OptimizerSection { schedule: decay, warmup_steps, .. } = *optimizer;
        Schedule { decay, warmup_steps, total_steps }
    }

    /// True if the run evaluates after `step` training steps (0: before the first).
    pub fn evaluates_at(&self, step: u64) -> bool {
        let every = self.config.evaluation.every;
        every > 0 && (step.is_multiple_of(every) || step == self.config.training.steps)
    }

    /// True if the run saves after `step` training steps.
    pub fn saves_at(&self, step: u64) -> bool {
        let every = self.config.checkpoint.every;
        step == self.config.training.steps || (every > 0 && step > 0 && step.is_multiple_of(every))
    }

    /// Checks that the model directory and the files of questions are there.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with all that are not.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        let mut problems = Problems::default();
        let mut config = self.config.clone();
        let policy = &self.config.model.path;
        let is_own = |path: &Path| !path.as_os_str().is_empty() && path != policy;
        let models = config.models().into_iter();
        for (field, model) in models.filter(|(field, path)| *field == "model.path" || is_own(path))
        {
            let is_there = model.join("config.json").is_file();
            let advice = model_place::advice(model).map(|advice| format!("; {advice}"));
            let expected = format!("{}{}", model_place::EXPECTED, advice.unwrap_or_default());
            problems.add_unless(is_there, field, model.display(), &expected);
        }
        for (field, file) in config.question_files() {
            let are_there = file.files().iter().all(|file| file.is_file());
            let expected = format!("a {KINDS_OF_FILE} file");
            problems.add_unless(are_there, field, file.path.display(), &expected);
        }
        problems.finish().map_err(|problems| ConfigError::invalid(&self.config.name, &problems))
    }
}

/// Commits by the names that a configuration writes, [`HubFile`]s as text.
pub type Commits = BTreeMap<String, String>;

/// A name of the hub in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubFile<'a> {
    /// A model.
    Model(&'a HubName),
    /// A data set.
    DataSet(&'a HubName),
}

impl Display for HubFile<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(name) => name.fmt(out),
            Self::DataSet(name) => write!(out, "datasets/{name}"),
        }
    }
}

impl ModelSection {
    /// The directory, or the name with its revision.
    pub fn place(&self) -> PathBuf {
        if self.revision.is_empty() {
            return self.path.clone();
        }
        PathBuf::from(format!("{}@{}", self.path.display(), self.revision))
    }
}

impl RunConfig {
    /// Replaces names by files, and returns the commits of those names.
    fn locate<E>(
        &mut self,
        mut locate: impl FnMut(HubFile<'_>) -> Result<Snapshot, E>,
    ) -> Result<Commits, E> {
        let mut commits = Commits::new();
        self.model.path = self.model.place();
        self.model.revision.clear();
        for (_, path) in self.models() {
            if let Some(name) = HubName::of_path(path, Path::new("")) {
                let file = HubFile::Model(&name);
                let Snapshot { commit, folder, .. } = locate(file)?;
                commits.insert(file.to_string(), commit);
                *path = folder;
            }
        }
        for (_, file) in self.question_files() {
            if let Some(name) = HubName::of_path(&file.path, Path::new("")) {
                let named = HubFile::DataSet(&name);
                let Snapshot { commit, files, .. } = locate(named)?;
                commits.insert(named.to_string(), commit);
                file.located = files;
            }
        }
        Ok(commits)
    }
}
