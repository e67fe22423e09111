//! The paper's findings in a language model: warm-ups, runs of every method with several seeds, evaluations, and their page.
//!
//! Every part is a command of this program in a process of its own, with its configuration and its log in the folder, so any of
//! them can be run again by hand. What is finished is not done again.

mod jobs;

use std::path::{Path, PathBuf};

use anyhow::Context;
use run_report::study::cell::{Cell, SeedRun, Study};
use run_report::study::method::{GRPO, METHODS, Method, Role};
use toml::{Table, Value};

use self::jobs::{Job, Pool};
use crate::interruption::Signals;
use crate::progress::Progress;

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
                let make = vec!["warmup".into(), config.into()];
                let evaluate = evaluate(&output, questions, &self.start(model, seed));
                jobs.push(Job { name, commands: [make, evaluate] });
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

const WARMUP: &str = include_str!("../../../../configs/demo-warmup.toml");
const RUN: &str = include_str!("../../../../configs/demo.toml");
const EVALUATION: &str = include_str!("../../../../configs/evaluation/demo.toml");

/// A model of the study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    /// Name, by its number of parameters.
    pub(crate) name: &'static str,
    /// Width, width of the feed-forward layer, and blocks.
    pub(crate) sizes: [i64; 3],
    /// Learning rate of its runs: that of the demo, divided by how many times as wide the model is.
    pub(crate) learning_rate: f64,
}

/// The models, smallest first. Every method runs on the first, those of [`Role::Main`](run_report::study::method::Role::Main) on the second, GRPO on all.
pub(crate) const MODELS: [Model; 3] = [
    Model { name: "0.1M", sizes: [64, 160, 2], learning_rate: 3e-4 },
    Model { name: "0.3M", sizes: [96, 256, 3], learning_rate: 2e-4 },
    Model { name: "0.8M", sizes: [128, 352, 4], learning_rate: 1.5e-4 },
];

pub(super) fn warmup(model: Model, seed: u64, output: &Path) -> anyhow::Result<Table> {
    let mut table: Table = WARMUP.parse()?;
    let [width, feed_forward, blocks] = model.sizes;
    let (seed, output) = (i64::try_from(seed)?, path(output)?);
    let changes = toml::toml! {
        seed = seed
        output = output

        [model]
        hidden_size = width
        intermediate_size = feed_forward
        num_hidden_layers = blocks
    };
    merge(&mut table, changes);
    Ok(table)
}

/// A run of a method on a model that `warmup` holds.
pub(super) fn run(
    model: Model,
    method: &Method,
    seed: u64,
    steps: i64,
    warmup: &Path,
    output: &Path,
) -> anyhow::Result<Table> {
    let mut table: Table = RUN.parse()?;
    let settings: Table = method.settings.parse()?;
    // A loss takes the place of GRPO's, not a place beside it.
    if settings.get("algorithm").is_some_and(|section| section.get("policy_loss").is_some())
        && let Some(algorithm) = table.get_mut("algorithm").and_then(Value::as_table_mut)
    {
        algorithm.remove("policy_loss");
    }
    merge(&mut table, settings);
    let (name, seed) = (format!("{}-{seed}", method.name), i64::try_from(seed)?);
    let (start, output) = (path(&std::path::absolute(warmup)?)?, path(output)?);
    let rate = model.learning_rate;
    let changes = toml::toml! {
        name = name
        seed = seed
        output_directory = output

        [model]
        path = start

        [training]
        steps = steps

        [optimizer]
        learning_rate = rate
        // Gradients are 0 for many steps where all answers are right or all wrong. With the usual betas the next one, of a rare
        // answer, makes a step three times the learning rate, which may cost the format of the answers.
        betas = [0.9, 0.95]
        epsilon = 1e-4

        [evaluation]
        every = 10
    };
    merge(&mut table, changes);
    // Only GRPO's covariance is compared with the change of the entropy, whose measurement takes a fifth of the time.
    if method.name != GRPO {
        merge(&mut table, toml::toml! { metrics = { probe_tokens = 0 } });
    }
    Ok(table)
}

/// Held-out questions, asked and graded as the runs do.
pub(super) fn evaluation() -> anyhow::Result<Table> {
    let (mut table, run): (Table, Table) = (EVALUATION.parse()?, RUN.parse()?);
    let of_run = |section: &str, key: &str| {
        run.get(section).and_then(|section| section.get(key)).cloned().context("the demo has it")
    };
    let grading = of_run("reward", "grading")?;
    let prompt = of_run("data", "prompt")?;
    let longest = of_run("rollout", "max_response_tokens")?;
    let changes = toml::toml! {
        grading = grading
        prompt = prompt
        sampling = { max_response_tokens = longest }
    };
    merge(&mut table, changes);
    Ok(table)
}

fn path(path: &Path) -> anyhow::Result<Value> {
    let text = path.to_str().with_context(|| format!("{}: not UTF-8", path.display()))?;
    Ok(Value::String(text.to_owned()))
}

/// Puts `over` on top of a table, tables within tables likewise.
fn merge(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(over)) => merge(inner, over),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use run_report::study::method::METHODS;
    use training_run::config::Run;

    use super::*;
    use crate::warmup::WarmupConfig;

    #[test]
    fn every_configuration_is_valid() {
        let folder = tempfile::tempdir().unwrap();
        let write = |table: &Table| {
            let file = folder.path().join("one.toml");
            std::fs::write(&file, toml::to_string(table).unwrap()).unwrap();
            file
        };
        for model in MODELS {
            let config =
                WarmupConfig::load(&write(&warmup(model, 7, Path::new("w")).unwrap())).unwrap();
            assert_eq!((config.seed, config.output.to_str()), (7, Some("w")));
            assert_eq!(i64::try_from(config.model.num_hidden_layers), Ok(model.sizes[2]));
        }
        for method in METHODS {
            let table = run(MODELS[1], &method, 7, 50, Path::new("w"), Path::new("r")).unwrap();
            let run = Run::load(&write(&table), &[]).unwrap();
            assert_eq!(run.config().training.steps, 50, "{}", method.name);
            assert_eq!(run.config().optimizer.learning_rate.to_bits(), 2e-4_f64.to_bits());
        }
    }
}
