//! The knobs of Clip-Cov and KL-Cov turn the entropy.

use super::arena::{Arena, Trial, clip_cov, kl_cov};
use super::show::{ENDS, Sweep, ends, entropy_chart, knob_chart};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Table, Target};
use crate::training::Method;

/// Fractions of the tokens that KL-Cov penalises.
pub(super) const FRACTIONS: [f64; 4] = [0.05, 0.1, 0.15, 0.2];
/// Fractions of the tokens that Clip-Cov drops.
pub(super) const DROPPED: [f64; 4] = [0.003, 0.01, 0.03, 0.05];
const COEFFICIENTS: [f64; 4] = [0.1, 0.3, 1.0, 2.0];

/// A knob, its values, and the runs with each.
type Knob = (&'static str, [f64; 4], Vec<Trial>);

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = |arena: &Arena, values: [f64; 4], knob: &str, method: fn(f64) -> Method| {
        let named = values.map(|value| (format!("{knob} = {value}"), method(value)));
        arena.runs(setting, progress, named)
    };
    let knobs = [
        ("k", FRACTIONS, runs(slow, FRACTIONS, "k", |k| kl_cov(k, 1.0))),
        ("r", DROPPED, runs(slow, DROPPED, "r", clip_cov)),
        ("β", COEFFICIENTS, runs(fast, COEFFICIENTS, "β", |beta| kl_cov(0.05, beta))),
    ];
    let [k, r, beta] = &knobs;
    let entropy = "Entropy after training (nats per token)";
    ExperimentResult::new(measures(&knobs))
        .figure(knob_chart(
            "knobs-fractions",
            ["Fraction of the tokens", entropy],
            &[entropies("KL-Cov, k", k), entropies("Clip-Cov, r", r)],
            true,
        ))
        .figure(knob_chart(
            "knobs-coefficient",
            ["Coefficient β", entropy],
            &[entropies("k = 0.05, large steps", beta)],
            true,
        ))
        .figure(entropy_chart("knobs-curves", &k.2))
        .table(end_table(&knobs))
}

/// Entropy after training for each value of a knob.
fn entropies<'a>(name: &'a str, (_, values, trials): &'a Knob) -> Sweep<'a> {
    (name, values, trials, |point| point.entropy)
}

fn measures(knobs: &[Knob]) -> Vec<Measure> {
    let rises = knobs.iter().map(|(knob, _, trials)| {
        let rises = smallest_steps(trials).into_iter().map(|step| step > 1.0);
        Measure::holds(format!("entropy rises with {knob}"), rises)
    });
    let steps = knobs.iter().map(|(knob, _, trials)| {
        let quantity = format!("{knob}: smallest entropy over that at the value before");
        Measure::new(quantity, smallest_steps(trials), Target::None)
    });
    rises.chain(steps).collect()
}

/// Smallest ratio of entropy after training to that at the previous value of the knob, `[seeds]`.
fn smallest_steps(trials: &[Trial]) -> Vec<f64> {
    let ends: Vec<Vec<f64>> = trials.iter().map(|trial| trial.end(|point| point.entropy)).collect();
    let steps = |seed: usize| ends.windows(2).map(move |pair| pair[1][seed] / pair[0][seed]);
    (0..trials[0].seeds.len()).map(|seed| steps(seed).fold(f64::INFINITY, f64::min)).collect()
}

fn end_table(knobs: &[Knob]) -> Table {
    let columns = [&["Knob", "Value"][..], &ENDS].concat();
    let mut table = Table::new("After training, means over the seeds.", &columns);
    for (knob, values, trials) in knobs {
        for (value, trial) in std::iter::zip(values, trials) {
            let means = ends(trial, |interval| interval.mean.into());
            table.row([(*knob).into(), (*value).into()].into_iter().chain(means));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_step_of_a_seed_is_the_one_that_may_fail() {
        let arena = Arena::of(4, 1.0, 1, 1);
        let trials = arena.runs(&Setting::SHORT, &Progress::silent(), [("k", kl_cov(0.1, 1.0))]);
        let scaled = |factors: [f64; 3]| {
            let mut trial = trials[0].clone();
            for (run, factor) in std::iter::zip(&mut trial.seeds, factors) {
                run.curve.points.iter_mut().for_each(|point| point.entropy = factor);
            }
            trial
        };
        let trials = [scaled([1.0; 3]), scaled([2.0, 2.0, 3.0]), scaled([3.0, 1.0, 9.0])];
        assert_eq!(smallest_steps(&trials), [1.5, 0.5, 3.0]);
    }

    #[test]
    fn more_tokens_held_is_more_entropy() {
        let arena = Arena::of(16, 1.0, 300, 50);
        let outcome = run_in(&arena, &arena, &Setting::SHORT, &Progress::silent());
        let entropies = &outcome.figures[0].chart.series[0].points;
        assert!(entropies[3].1 > 2.0 * entropies[0].1, "{entropies:?}");
    }
}
