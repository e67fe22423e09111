//! The runs of a method on a model, and what the findings read of each.

use std::path::Path;

use figures::moving_average::mean;
use training_run::metrics::StepMetrics;
use whole_file::FileError;

use super::method::GRPO;
use crate::evaluation::folder::{ResultsFolder, unfinished};
use crate::evaluation::measures::pass_at_k;
use crate::run_law::{RunLaw, mean_accuracy};
use crate::run_view::RunView;

/// All runs, the smallest model first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Study {
    /// Runs by model and method.
    pub cells: Vec<Cell>,
}

impl Study {
    /// Runs of a method on a model; none if there are none.
    pub(super) fn runs(&self, model: &str, method: &str) -> &[SeedRun] {
        let cell = self.cells.iter().find(|cell| cell.model == model && cell.method == method);
        cell.map_or(&[], |cell| &cell.runs)
    }

    /// The models, smallest first, with their numbers of parameters.
    pub(super) fn models(&self) -> Vec<(&str, u64)> {
        let mut models: Vec<(&str, u64)> = vec![];
        for cell in &self.cells {
            if models.iter().all(|(name, _)| *name != cell.model) {
                models.push((&cell.model, cell.parameters));
            }
        }
        models
    }

    /// The model on which every method ran: the first.
    pub(super) fn main_model(&self) -> &str {
        self.cells.first().map_or("", |cell| &cell.model)
    }

    pub(super) fn main(&self, method: &str) -> &[SeedRun] {
        self.runs(self.main_model(), method)
    }

    pub(super) fn grpo(&self) -> &[SeedRun] {
        self.main(GRPO)
    }
}

/// Runs of one method on one model, a seed each.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Name of the model.
    pub model: String,
    /// Its number of parameters.
    pub parameters: u64,
    /// Name of the method, of [`super::method::METHODS`].
    pub method: String,
    /// Runs in the order of their seeds.
    pub runs: Vec<SeedRun>,
}

/// One run and the evaluations before and after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeedRun {
    /// Seed of warm-up and run.
    pub seed: u64,
    /// Metrics of its steps.
    pub metrics: Vec<StepMetrics>,
    /// Held-out answers of the model that it starts from.
    pub start: Scores,
    /// Held-out answers after the last step.
    pub end: Scores,
}

/// Right responses to each held-out question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scores {
    /// Responses to each question.
    pub samples: usize,
    /// Right ones, `[questions]`.
    pub right: Vec<usize>,
}

impl Scores {
    /// Reads the only set of a finished evaluation.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the folder or file.
    pub fn read(root: &Path) -> Result<Self, FileError> {
        let (folder, results) = ResultsFolder::open(root)?;
        let set = results.sets.first().ok_or_else(|| unfinished(root))?;
        let responses = folder.responses(&set.name, set.samples, set.problems, set.problems)?;
        let groups = responses.chunks(set.samples);
        let right = groups.map(|group| group.iter().filter(|one| one.is_right()).count()).collect();
        Ok(Self { samples: set.samples, right })
    }

    /// Fraction of right responses to the questions that are chosen by their places; NaN if none is.
    pub fn accuracy(&self, chosen: impl Fn(usize) -> bool) -> f64 {
        let places = || (0..self.right.len()).filter(|&place| chosen(place));
        let right: usize = places().map(|place| self.right[place]).sum();
        right as f64 / (self.samples * places().count()) as f64
    }

    /// Mean over the questions of the chance that one of `k` responses is right.
    pub fn pass_at(&self, k: usize) -> f64 {
        let of_question = self.right.iter().map(|&right| pass_at_k(right, self.samples, k));
        of_question.sum::<f64>() / self.right.len() as f64
    }

    /// Returns true if fewer than `share` of the responses to a question are right.
    pub fn is_rare(&self, place: usize, share: f64) -> bool {
        let right = self.right.get(place).copied().unwrap_or_default();
        (right as f64) < share * self.samples as f64
    }
}

impl SeedRun {
    /// Reads a run and the evaluations before and after it.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming folder or file.
    pub fn read(seed: u64, run: &Path, start: &Path, end: &Path) -> Result<Self, FileError> {
        let metrics = RunView::open(run)?.metrics().to_vec();
        Ok(Self { seed, metrics, start: Scores::read(start)?, end: Scores::read(end)? })
    }

    pub(super) fn steps(&self) -> f64 {
        self.metrics.last().map_or(0.0, |step| step.step() as f64)
    }

    /// Steps that have a value, with it.
    fn over_steps(&self, value: impl Fn(&StepMetrics) -> Option<f64>) -> Vec<(f64, f64)> {
        let point = |step: &StepMetrics| Some((step.step() as f64, value(step)?));
        self.metrics.iter().filter_map(point).collect()
    }

    pub(super) fn series(&self, name: &str) -> Vec<(f64, f64)> {
        self.over_steps(|step| step.get(name))
    }

    pub(super) fn accuracy(&self) -> Vec<(f64, f64)> {
        self.over_steps(mean_accuracy)
    }

    /// Held-out pass@k with its steps.
    pub(super) fn pass_at(&self, k: usize) -> Vec<(f64, f64)> {
        let suffix = format!("/acc/pass@{k}");
        let is_pass = |name: &str| name.starts_with("val-core/") && name.ends_with(&suffix);
        self.over_steps(|step| step.iter().find(|(name, _)| is_pass(name)).map(|(_, value)| value))
    }

    /// Mean of a metric from one share of the run to another, both of 0..=1; NaN without any.
    pub(super) fn mean(&self, name: &str, from: f64, to: f64) -> f64 {
        self.mean_within(&self.series(name), from, to)
    }

    /// Mean held-out accuracy from one share of the run to another; NaN without any.
    pub(super) fn mean_accuracy(&self, from: f64, to: f64) -> f64 {
        self.mean_within(&self.accuracy(), from, to)
    }

    fn mean_within(&self, points: &[(f64, f64)], from: f64, to: f64) -> f64 {
        let within = from * self.steps()..=to * self.steps();
        let within = points.iter().filter(|(step, _)| within.contains(step));
        mean(&within.map(|(_, value)| *value).collect::<Vec<_>>())
    }

    /// Entropy and held-out accuracy of each evaluated policy, as columns, in the order of training.
    pub(super) fn law_points(&self) -> (Vec<f64>, Vec<f64>) {
        RunLaw::of(&self.metrics).points().into_iter().unzip()
    }
}
