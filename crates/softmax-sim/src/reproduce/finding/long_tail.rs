//! A few tokens carry almost all of the covariance.

use crate::environment::LongTailSetting;
use crate::reproduce::charts::chart;
use crate::reproduce::seeds::mean;
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Table, Target};
use crate::training::{Method, Schedule, Trainer};
use entropy_core::{CovarianceSummary, token_covariances};
use figures::{Axis, Chart, Mark, Series};

/// Table 1 of the paper, over [`CovarianceSummary::FRACTIONS`].
const PAPER: [f64; 6] = [5.654, 3.112, 1.385, 0.351, 0.152, 0.003];

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    progress.plan(setting.seeds as u64);
    let batches = setting.over_seeds(|seed| {
        let batch = Batch::of(seed);
        progress.advance(1);
        batch
    });
    let measure = |quantity: &str, value: fn(&Batch) -> f64, target| {
        Measure::new(quantity, batches.iter().map(value), target)
    };
    let over_all = |batch: &Batch| batch.top(0) / batch.summary.mean;
    let measures = vec![
        measure("mean of the top 0.0002", |batch| batch.top(0), Target::AtLeast(4.0)),
        measure("the same over the mean of all", over_all, Target::AtLeast(300.0)),
        measure("part of the net sum in the top 0.002", Batch::carried, Target::AtLeast(0.5)),
        measure("fraction of tokens between 1 and 5", |batch| batch.in_band, Target::None),
        measure("tokens", |batch| batch.summary.tokens as f64, Target::None),
    ];
    let mut table = Table::new(
        "Mean covariance of the top tokens (nat·reward).",
        &["Top fraction of the tokens", "Here", "Paper, Table 1"],
    );
    let means: Vec<f64> =
        (0..PAPER.len()).map(|index| mean(&batches, |batch| batch.top(index))).collect();
    for (index, fraction) in CovarianceSummary::FRACTIONS.into_iter().enumerate() {
        table.row([fraction.to_string().into(), means[index].into(), PAPER[index].into()]);
    }
    ExperimentResult::new(measures).figure(over_fraction(&means)).table(table)
}

/// The covariances of one batch.
struct Batch {
    summary: CovarianceSummary,
    in_band: f64,
}

impl Batch {
    fn of(seed: u64) -> Self {
        let environment = LongTailSetting::TABLE_1.draw(seed);
        let schedule = Schedule { mini_batches: 1, epochs: 1, ..Schedule::tabular(0.0) };
        let mut trainer = Trainer::new(&environment, Method::default(), schedule, seed);
        trainer.step();
        let rollout = trainer.rollout();
        let covariances = token_covariances(&rollout.advantage, &rollout.old_log_prob);
        let in_band = covariances.iter().filter(|value| (1.0..=5.0).contains(*value)).count();
        Self {
            in_band: in_band as f64 / covariances.len() as f64,
            summary: CovarianceSummary::of(&covariances),
        }
    }

    fn top(&self, index: usize) -> f64 {
        self.summary.top_means[index].mean
    }

    fn carried(&self) -> f64 {
        let top = self.summary.top_means[1];
        top.mean * top.tokens as f64 / (self.summary.mean * self.summary.tokens as f64)
    }
}

fn over_fraction(means: &[f64]) -> Chart {
    let points = |values: &[f64]| {
        std::iter::zip(CovarianceSummary::FRACTIONS, values.iter().copied()).collect::<Vec<_>>()
    };
    let series = vec![
        Series::new("here", 0, Mark::Marked, points(means)),
        Series::new("paper, Table 1", 1, Mark::Marked, points(&PAPER)),
    ];
    let x = Axis::log("Top fraction of the tokens", CovarianceSummary::FRACTIONS);
    let y = Axis::log("Mean covariance (nat·reward)", series.iter().flat_map(Series::heights));
    chart("long-tail", x, y, series)
}
