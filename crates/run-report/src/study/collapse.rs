//! Entropy is spent, and reward won, at the beginning of a run.

use super::cell::{SeedRun, Study};
use super::curve::chart;
use super::finding::Finding;
use super::measure::{Measure, Target};
use super::method::GRPO;
use crate::report::ENTROPY;

/// Half the width, as a share of the run, of the means that stand for a moment of it.
const HALF_WIDTH: f64 = 0.02;

/// Shares of entropy and gain that are spent after 1/12 and 1/3 of the updates.
pub(super) fn finding(study: &Study) -> Finding {
    let shares = [(1.0 / 12.0, "1/12", 0.73, 0.76), (1.0 / 3.0, "1/3", 0.94, 0.93)];
    let mut measures = vec![];
    for (share, name, entropy, gain) in shares {
        let of_entropy = study.grpo().iter().map(|run| entropy_spent(run, share));
        let what = format!("share of the spent entropy, after {name} of the updates");
        measures.push(Measure::new(&what, of_entropy, Target::AtLeast(entropy)));
        let of_gain = study.grpo().iter().map(|run| gained(run, share));
        let what = format!("share of the gain in held-out accuracy, after {name}");
        measures.push(Measure::new(&what, of_gain, Target::AtLeast(gain)));
    }
    let start = study.grpo().iter().map(|run| run.mean(ENTROPY, 0.0, HALF_WIDTH));
    measures.push(Measure::new("entropy at the start, nat", start, Target::None));
    let end = study.grpo().iter().map(|run| run.mean(ENTROPY, 0.9, 1.0));
    measures.push(Measure::new("entropy over the last tenth, nat", end, Target::None));
    let model = study.main_model();
    let entropy = |run: &SeedRun| run.series(ENTROPY);
    let words = ("lm-collapse", "Entropy under GRPO", "Entropy (nats per token)");
    Finding::new("collapse", measures, vec![chart((study, model), &[GRPO], words, entropy)])
}

/// Share of the entropy spent over the run that was spent by `share` of it.
fn entropy_spent(run: &SeedRun, share: f64) -> f64 {
    let start = run.series(ENTROPY).first().map_or(f64::NAN, |point| point.1);
    let now = run.mean(ENTROPY, share - HALF_WIDTH, share + HALF_WIDTH);
    (start - now) / (start - run.mean(ENTROPY, 0.9, 1.0))
}

/// Share of the gain in held-out accuracy over the run that was won by `share` of it.
fn gained(run: &SeedRun, share: f64) -> f64 {
    let start = run.start.accuracy(|_| true);
    let now = run.mean_accuracy(share - HALF_WIDTH, share + HALF_WIDTH);
    (now - start) / (run.mean_accuracy(0.9, 1.0) - start)
}
