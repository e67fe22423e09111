//! The paper's findings in a language model: warm-ups, runs of every method with several seeds, evaluations, and their page.
//!
//! Every part is a command of this program in a process of its own, with its configuration and its log in the folder, so any of
//! them can be run again by hand. What is finished is not done again.

mod configurations;
mod jobs;

use std::path::{Path, PathBuf};

use anyhow::Context;
use run_report::study::cell::{Cell, SeedRun, Study};
use run_report::study::method::{GRPO, METHODS, Method, Role};

use crate::progress::Progress;
use crate::signals::Signals;
pub(crate) use configurations::MODELS;
use configurations::{Model, evaluation, run, warmup};
use jobs::{Job, Pool};

/// Parts of a study, and their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) output: PathBuf,
    /// Seeds, each of a warm-up and of the runs on it.
    pub(crate) seeds: Vec<u64>,
    /// Number of models, from the smallest.
    pub(crate) models: usize,
    /// Names of the methods to run; all if there are none.
    pub(crate) methods: Vec<String>,
    pub(crate) steps: i64,
    /// Processes at a time, of one thread each.
    pub(crate) processes: usize,
}

impl Plan {
    fn cells(&self) -> Vec<(Model, &'static Method)> {
        static ALL: [Method; METHODS.len()] = METHODS;
        let is_asked = |method: &Method| {
            self.methods.is_empty() || self.methods.iter().any(|name| name == method.name)
        };
        let mut cells = vec![];
        for (index, model) in MODELS.into_iter().take(self.models).enumerate() {
            let runs = |method: &&Method| match index {
                0 => true,
                1 => method.role == Role::Main,
                _ => method.name == GRPO,
            };
            let methods = ALL.iter().filter(|method| is_asked(method)).filter(runs);
            cells.extend(methods.map(|method| (model, method)));
        }
        cells
    }

    fn warmup(&self, model: Model, seed: u64) -> PathBuf {
        self.output.join("warmup").join(format!("{}-{seed}", model.name))
    }

    fn start(&self, model: Model, seed: u64) -> PathBuf {
        self.output.join("start").join(format!("{}-{seed}", model.name))
    }

    fn run(&self, model: Model, method: &Method, seed: u64) -> PathBuf {
        self.output.join(model.name).join(format!("{}-{seed}", method.name))
    }

    fn end(&self, model: Model, method: &Method, seed: u64) -> PathBuf {
        self.output.join("end").join(model.name).join(format!("{}-{seed}", method.name))
    }

    fn write(&self, name: &str, table: &toml::Table) -> anyhow::Result<PathBuf> {
        let path = self.output.join("configs").join(format!("{name}.toml"));
        let text = toml::to_string(table)?;
        whole_file::write_atomically(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Runs what is missing and reads everything.
    pub(crate) fn complete(&self) -> anyhow::Result<Study> {
        for name in ["configs", "logs"] {
            let folder = self.output.join(name);
            std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let questions = self.write("evaluation", &evaluation()?)?;
        let (warmups, runs) = (self.warmups(&questions)?, self.runs(&questions)?);
        let progress = Progress::new("reproduce", (warmups.len() + runs.len()) as u64, 0);
        let signals = Signals::listen().context("cannot listen for signals")?;
        let (processes, logs) = (self.processes, self.output.join("logs"));
        let pool = Pool { processes, logs: &logs, signals: &signals, progress: &progress };
        pool.run(&warmups, 0)?;
        pool.run(&runs, warmups.len() as u64)?;
        progress.finish();
        self.read()
    }

    fn warmups(&self, questions: &Path) -> anyhow::Result<Vec<Job>> {
        let mut jobs = vec![];
        for model in MODELS.into_iter().take(self.models) {
            for &seed in &self.seeds {
                let name = format!("warmup-{}-{seed}", model.name);
                let output = self.warmup(model, seed);
                let config = self.write(&name, &warmup(model, seed, &output)?)?;
                let evaluate = evaluate(&output, questions, &self.start(model, seed));
                jobs.push(Job { name, commands: [vec!["warmup".into(), config.into()], evaluate] });
            }
        }
        Ok(jobs)
    }

    /// The runs, seed by seed: what is interrupted has all methods of some seeds.
    fn runs(&self, questions: &Path) -> anyhow::Result<Vec<Job>> {
        let mut jobs = vec![];
        for &seed in &self.seeds {
            for (model, method) in self.cells() {
                let name = format!("{}-{}-{seed}", model.name, method.name);
                let (from, to) = (self.warmup(model, seed), self.run(model, method, seed));
                let config =
                    self.write(&name, &run(model, method, seed, self.steps, &from, &to)?)?;
                let evaluate = evaluate(&to, questions, &self.end(model, method, seed));
                jobs.push(Job { name, commands: [vec!["train".into(), config.into()], evaluate] });
            }
        }
        Ok(jobs)
    }

    fn read(&self) -> anyhow::Result<Study> {
        let mut cells = vec![];
        for (model, method) in self.cells() {
            let read = |&seed: &u64| {
                let (start, end) = (self.start(model, seed), self.end(model, method, seed));
                Ok(SeedRun::read(seed, &self.run(model, method, seed), &start, &end)?)
            };
            let weights = self.warmup(model, self.seeds[0]).join("model.safetensors");
            let bytes =
                std::fs::metadata(&weights).with_context(|| weights.display().to_string())?;
            cells.push(Cell {
                model: model.name.to_owned(),
                // Four bytes each; the header is short beside them.
                parameters: bytes.len() / 4,
                method: method.name.to_owned(),
                runs: self.seeds.iter().map(read).collect::<anyhow::Result<_>>()?,
            });
        }
        Ok(Study { cells })
    }
}

fn evaluate(model: &Path, questions: &Path, output: &Path) -> Vec<std::ffi::OsString> {
    let mut arguments = vec!["eval".into(), model.into(), "--config".into(), questions.into()];
    arguments.extend(["--rows".into(), "256".into(), "--output".into(), output.into()]);
    arguments
}
