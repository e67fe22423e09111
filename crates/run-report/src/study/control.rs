//! Clip-Cov and KL-Cov against GRPO, on every model.

use super::cell::{SeedRun, Study};
use super::curve::{chart, paired};
use super::finding::Finding;
use super::measure::{Measure, Target};
use super::method::{CLIP_COV, GRPO, KL_COV};
use crate::report::ENTROPY;

/// Questions of which the model solves a smaller share of samples at the start are rare.
const RARE: f64 = 0.05;

/// Responses of which one has to be right.
const PASS: usize = 8;

/// Differences of equal seeds.
pub(super) fn finding(study: &Study) -> Finding {
    let mut measures = vec![];
    let compared: Vec<&str> = study
        .models()
        .into_iter()
        .map(|(model, _)| model)
        .filter(|model| [CLIP_COV, KL_COV].iter().any(|name| !study.runs(model, name).is_empty()))
        .collect();
    for &model in &compared {
        let grpo = study.runs(model, GRPO);
        let flat = grpo
            .iter()
            .map(|run| run.mean_accuracy(5.0 / 6.0, 1.0) - run.mean_accuracy(2.0 / 3.0, 5.0 / 6.0));
        let what = format!(
            "{model}, GRPO: held-out accuracy of the last sixth less that of the sixth before"
        );
        measures.push(Measure::new(&what, flat, Target::Between(-0.02, 0.02)));
        measures.extend(plain(model, grpo, GRPO));
        for method in [CLIP_COV, KL_COV] {
            measures.extend(against(model, grpo, study.runs(model, method), method));
        }
    }
    for (off, method) in [("Clip-Cov-off", CLIP_COV), ("KL-Cov-off", KL_COV)] {
        let differences = paired(study.grpo(), study.main(off), |run| run.end.accuracy(|_| true));
        let what = format!("{method} that selects or penalises nothing, less GRPO: held-out avg@n");
        measures.push(Measure::new(&what, differences, Target::Between(-0.05, 0.05)));
    }
    let methods = [GRPO, CLIP_COV, KL_COV];
    let mut figures = vec![];
    for model in compared {
        let stem = |what: &str| format!("lm-{what}-{model}");
        let (accuracy, entropy) = (stem("accuracy"), stem("entropy"));
        let title = format!("Held-out accuracy, {model}");
        let words = (accuracy.as_str(), title.as_str(), "Fraction right");
        figures.push(chart((study, model), &methods, words, SeedRun::accuracy));
        let title = format!("Entropy, {model}");
        let words = (entropy.as_str(), title.as_str(), "Entropy (nats per token)");
        figures.push(chart((study, model), &methods, words, |run| run.series(ENTROPY)));
    }
    Finding {
        name: "clip-cov-kl-cov",
        title: "Clip-Cov and KL-Cov break through the ceiling of GRPO",
        claim: "Where GRPO is flat, both keep the entropy, ten times as high for KL-Cov, and end higher: 2.0 % for 7B, 6.4 % for \
                32B (Section 4.3, Figure 11, Table 2).",
        targets: "GRPO is flat in its last third. Over it the entropy of each is at least ten times GRPO's; held-out avg@n and \
                  pass@8, and the accuracy on questions that the start solved in fewer than 0.05 of 32 samples, end higher, \
                  with a paired interval above 0. With the mechanism off the same losses end within 0.05 of GRPO.",
        measures,
        figures,
        notes: vec![],
    }
}

/// A number of a run, with its name.
type Outcome = (&'static str, fn(&SeedRun) -> f64);

/// Numbers by which the methods are compared at the end.
fn outcomes() -> [Outcome; 3] {
    [
        ("held-out avg@n", |run| run.end.accuracy(|_| true)),
        ("held-out pass@8", |run| run.end.pass_at(PASS)),
        ("accuracy on questions that the start rarely solved", |run| {
            run.end.accuracy(|place| run.start.is_rare(place, RARE))
        }),
    ]
}

/// The outcomes of a method, and in how many seeds it left the habit, whose ceiling is about 0.45.
fn plain(model: &str, runs: &[SeedRun], method: &str) -> Vec<Measure> {
    let above = |run: &SeedRun| f64::from(u8::from(run.end.accuracy(|_| true) > 0.6));
    let more: Outcome = ("seeds that end above 0.6, fraction", above);
    let measure = |(name, number): Outcome| {
        let what = format!("{model}, {method}: {name}");
        Measure::new(&what, runs.iter().map(number), Target::None)
    };
    outcomes().into_iter().chain([more]).map(measure).collect()
}

fn against(model: &str, grpo: &[SeedRun], runs: &[SeedRun], method: &str) -> Vec<Measure> {
    let late = |run: &SeedRun| run.mean(ENTROPY, 2.0 / 3.0, 1.0);
    let ratios = paired(grpo, runs, |run| late(run).ln());
    let what = format!("{model}, {method}: entropy over the last third, times GRPO's");
    let mut measures = vec![Measure::ratios(&what, ratios, Target::AtLeast(10.0))];
    measures.extend(plain(model, runs, method));
    for (name, number) in outcomes() {
        let what = format!("{model}, {method} less GRPO: {name}");
        measures.push(Measure::new(&what, paired(grpo, runs, number), Target::AtLeast(0.0)));
    }
    let length = |run: &SeedRun| run.mean("response_length/mean", 2.0 / 3.0, 1.0);
    let what = format!("{model}, {method} less GRPO: response length over the last third, tokens");
    measures.push(Measure::new(&what, paired(grpo, runs, length), Target::None));
    measures
}
