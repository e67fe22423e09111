//! Clip-Cov and KL-Cov against GRPO, on every model.

use super::cell::{SeedRun, Study};
use super::curve::{OverSteps, chart, paired};
use super::finding::Finding;
use super::measure::{Measure, Target};
use super::method::{CLIP_COV, GRPO, KL_COV};
use crate::report::ENTROPY;

/// Questions of which the model solves a smaller share of samples at the start are rare.
const RARE: f64 = 0.05;

/// Responses of which one has to be right.
const PASS: usize = 8;

/// Words and figures of the finding on one method.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    title: &'static str,
    method: &'static str,
    /// Loss with its mechanism off.
    off: &'static str,
    quantities: [Quantity; 2],
}

/// A quantity over the updates: stem, title and unit of its figure, and its values.
type Quantity = (&'static str, &'static str, &'static str, OverSteps);

/// Metric of the length of responses, in tokens.
const LENGTH: &str = "response_length/mean";

const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "kl-cov",
        title: "KL-Cov breaks through the ceiling of GRPO",
        method: KL_COV,
        off: "KL-Cov-off",
        quantities: [
            ("accuracy", "Held-out accuracy", "Fraction right", SeedRun::accuracy),
            ("pass", "Held-out pass@8", "Fraction solved", |run| run.pass_at(PASS)),
        ],
    },
    Subject {
        name: "clip-cov",
        title: "Clip-Cov breaks through the ceiling of GRPO",
        method: CLIP_COV,
        off: "Clip-Cov-off",
        quantities: [
            ("entropy", "Entropy", "Entropy (nats per token)", |run| run.series(ENTROPY)),
            ("length", "Response length", "Tokens", |run| run.series(LENGTH)),
        ],
    },
];

/// KL-Cov, then Clip-Cov, against GRPO.
pub(super) fn findings(study: &Study) -> [Finding; 2] {
    SUBJECTS.map(|subject| finding(study, subject))
}

/// Differences of equal seeds, on every model on which the method ran.
fn finding(study: &Study, subject: Subject) -> Finding {
    let Subject { name, title, method, off, quantities } = subject;
    let (mut measures, mut figures) = (vec![], vec![]);
    for (model, _) in study.models() {
        let (grpo, runs) = (study.runs(model, GRPO), study.runs(model, method));
        if runs.is_empty() {
            continue;
        }
        let flat = grpo
            .iter()
            .map(|run| run.mean_accuracy(5.0 / 6.0, 1.0) - run.mean_accuracy(2.0 / 3.0, 5.0 / 6.0));
        let what = format!(
            "{model}, GRPO: held-out accuracy of the last sixth less that of the sixth before"
        );
        measures.push(Measure::new(&what, flat, Target::Between(-0.02, 0.02)));
        measures.extend(plain(model, grpo, GRPO));
        measures.extend(against(model, grpo, runs, method));
    }
    for (stem, of_values, unit, values) in quantities {
        for (model, _) in
            study.models().iter().filter(|(model, _)| !study.runs(model, method).is_empty())
        {
            let (stem, heading) = (format!("lm-{stem}-{model}"), format!("{of_values}, {model}"));
            let words = (stem.as_str(), heading.as_str(), unit);
            figures.push(chart((study, model), &[GRPO, CLIP_COV, KL_COV], words, values));
        }
    }
    let differences = paired(study.grpo(), study.main(off), |run| run.end.accuracy(|_| true));
    let what = format!("{method} that selects or penalises nothing, less GRPO: held-out avg@n");
    measures.push(Measure::new(&what, differences, Target::Between(-0.05, 0.05)));
    Finding { name, title, ..Finding::new("control", measures, figures) }
}

type Outcome = (&'static str, fn(&SeedRun) -> f64);

/// Numbers by which the methods are compared at the end.
const OUTCOMES: [Outcome; 3] = [
    ("held-out avg@n", |run| run.end.accuracy(|_| true)),
    ("held-out pass@8", |run| run.end.pass_at(PASS)),
    ("accuracy on questions that the start rarely solved", |run| {
        run.end.accuracy(|place| run.start.is_rare(place, RARE))
    }),
];

/// The outcomes of a method, and in how many seeds it left the habit, whose ceiling is about 0.45.
fn plain(model: &str, runs: &[SeedRun], method: &str) -> Vec<Measure> {
    let above = |run: &SeedRun| f64::from(u8::from(run.end.accuracy(|_| true) > 0.6));
    let more: Outcome = ("seeds that end above 0.6, fraction", above);
    let measure = |(name, number): Outcome| {
        let what = format!("{model}, {method}: {name}");
        Measure::new(&what, runs.iter().map(number), Target::None)
    };
    OUTCOMES.into_iter().chain([more]).map(measure).collect()
}

fn against(model: &str, grpo: &[SeedRun], runs: &[SeedRun], method: &str) -> Vec<Measure> {
    let late = |run: &SeedRun| run.mean(ENTROPY, 2.0 / 3.0, 1.0);
    let ratios = paired(grpo, runs, |run| late(run).ln());
    let what = format!("{model}, {method}: entropy over the last third, times GRPO's");
    let mut measures = vec![Measure::ratios(&what, ratios, Target::AtLeast(10.0))];
    measures.extend(plain(model, runs, method));
    for (name, number) in OUTCOMES {
        let what = format!("{model}, {method} less GRPO: {name}");
        measures.push(Measure::new(&what, paired(grpo, runs, number), Target::AtLeast(0.0)));
    }
    let length = |run: &SeedRun| run.mean(LENGTH, 2.0 / 3.0, 1.0);
    let what = format!("{model}, {method} less GRPO: response length over the last third, tokens");
    measures.push(Measure::new(&what, paired(grpo, runs, length), Target::None));
    measures
}
