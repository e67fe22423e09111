//! The knobs of Clip-Cov and KL-Cov turn the entropy.

use super::arena::{Arena, Trial, clip_cov, kl_cov};
use super::show::{ENDS, Named, Sweep, ends, entropy_chart, knob_chart};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Table, Target};
use crate::training::Method;

/// The finding.
pub(in super::super) const FINDING: Finding = Finding {
    name: "knobs",
    title: "Entropy rises with every knob of Clip-Cov and KL-Cov",
    claim: "Clip-Cov's fraction of dropped tokens and KL-Cov's coefficient set the entropy: it rises with each. \
            Section 4.3, Figure 12.",
    method: "On the token world of entropy control: KL-Cov's fraction k (β = 1) and Clip-Cov's fraction r with small steps \
             (C2), KL-Cov's coefficient β (k = 0.05) with large ones (C1), where a token moves far enough within a rollout \
             for the penalty to pull.",
    target: "The entropy after training rises from each value to the next: k over 0.05, 0.1, 0.15, 0.2; r over \
             0.003, 0.01, 0.03, 0.05; β over 0.1, 0.3, 1, 2.",
    theory: &["detached-tokens"],
    sources: &[include_str!("knobs.rs"), include_str!("arena.rs"), include_str!("show.rs")],
    run,
};

/// Fractions of the tokens that KL-Cov penalises.
pub(super) const FRACTIONS: [f64; 4] = [0.05, 0.1, 0.15, 0.2];
/// Fractions of the tokens that Clip-Cov drops.
pub(super) const DROPPED: [f64; 4] = [0.003, 0.01, 0.03, 0.05];
const COEFFICIENTS: [f64; 4] = [0.1, 0.3, 1.0, 2.0];

/// A knob, its values, and the runs with each.
type Knob = (&'static str, [f64; 4], Vec<Trial>);

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = |arena: &Arena, methods: [Method; 4]| arena.runs(setting, progress, &methods);
    let knobs = [
        ("k", FRACTIONS, runs(slow, FRACTIONS.map(|k| kl_cov(k, 1.0)))),
        ("r", DROPPED, runs(slow, DROPPED.map(clip_cov))),
        ("β", COEFFICIENTS, runs(fast, COEFFICIENTS.map(|beta| kl_cov(0.05, beta)))),
    ];
    let [k, r, beta] = &knobs;
    let labels = FRACTIONS.map(|k| format!("k = {k}"));
    let named: Vec<Named> = labels.iter().map(String::as_str).zip(&k.2).collect();
    ExperimentResult::new(measures(&knobs))
        .figure(
            knob_chart(
                "knobs-fractions",
                "Entropy over the fraction of tokens",
                ["Fraction of the tokens", "Entropy after training (nats per token)"],
                &[entropies("KL-Cov, k", k), entropies("Clip-Cov, r", r)],
                true,
            ),
            "Means with 0.95 intervals over the seeds; both axes logarithmic. A few hundredths of the tokens turn the \
             entropy over a decade.",
        )
        .figure(
            knob_chart(
                "knobs-coefficient",
                "Entropy over the coefficient of KL-Cov",
                ["Coefficient β", "Entropy after training (nats per token)"],
                &[entropies("k = 0.05, large steps", beta)],
                true,
            ),
            "The coefficient does little below 1, the size of the advantages, and much above.",
        )
        .figure(
            entropy_chart("knobs-curves", "Entropy under KL-Cov for four fractions", &named),
            "The larger the fraction, the earlier the entropy stops falling.",
        )
        .table(end_table(&knobs))
        .note(
            "Below k of about 0.05 the entropies of neighbouring fractions overlap within the noise of a seed; the \
             paper's range, 2e-4 to 7e-4 of the tokens, lies far below what moves anything here.",
        )
}

/// Entropy after training for each value of a knob.
fn entropies<'a>(name: &'a str, (_, knobs, trials): &'a Knob) -> Sweep<'a> {
    let values = trials.iter().map(|trial| trial.end(|point| point.entropy)).collect();
    Sweep { name, knobs, values }
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
        let trials = arena.runs(&Setting::SHORT, &Progress::silent(), &[kl_cov(0.1, 1.0)]);
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
