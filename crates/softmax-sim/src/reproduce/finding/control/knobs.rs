//! The knobs of Clip-Cov and KL-Cov turn the entropy.

use super::arena::{Arena, Trial, clip_cov, kl_cov};
use super::show::{Named, Sweep, entropy_chart, knob_chart};
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

const FRACTIONS: [f64; 4] = [0.05, 0.1, 0.15, 0.2];
const DROPPED: [f64; 4] = [0.003, 0.01, 0.03, 0.05];
const COEFFICIENTS: [f64; 4] = [0.1, 0.3, 1.0, 2.0];

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let [slow, fast] = [Arena::slow(setting), Arena::fast(setting)];
    run_in(&slow, &fast, setting, progress)
}

#[expect(clippy::too_many_lines, reason = "an experiment, read from top to bottom")]
fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = |arena: &Arena, methods: [Method; 4]| arena.runs(setting, progress, &methods);
    let sets = [
        ("k", FRACTIONS, runs(slow, FRACTIONS.map(|k| kl_cov(k, 1.0)))),
        ("r", DROPPED, runs(slow, DROPPED.map(clip_cov))),
        ("β", COEFFICIENTS, runs(fast, COEFFICIENTS.map(|beta| kl_cov(0.05, beta)))),
    ];
    let mut measures: Vec<Measure> = sets
        .iter()
        .map(|(knob, _, trials)| {
            let quantity = format!("entropy rises with {knob}");
            let steps: Vec<f64> = smallest_steps(trials);
            let rises: Vec<bool> = steps.iter().map(|step| *step > 1.0).collect();
            Measure::holds(&quantity, &rises)
        })
        .collect();
    for (knob, _, trials) in &sets {
        let quantity = format!("{knob}: smallest entropy over that at the value before");
        measures.push(Measure::new(&quantity, "1", smallest_steps(trials), Target::None));
    }
    let entropies = |index: usize| -> Vec<Vec<f64>> {
        sets[index].2.iter().map(|trial| trial.end(|point| point.entropy)).collect()
    };
    let labels = FRACTIONS.map(|k| format!("k = {k}"));
    let named: Vec<Named> =
        std::iter::zip(&labels, &sets[0].2).map(|(label, trial)| (label.as_str(), trial)).collect();
    ExperimentResult::new(measures)
        .figure(
            knob_chart(
                "knobs-fractions",
                "Entropy over the fraction of tokens",
                ["Fraction of the tokens", "Entropy after training (nats per token)"],
                &[
                    Sweep { name: "KL-Cov, k", knobs: &FRACTIONS, values: entropies(0) },
                    Sweep { name: "Clip-Cov, r", knobs: &DROPPED, values: entropies(1) },
                ],
                true,
            ),
            "Means with 95 % intervals over the seeds; both axes logarithmic. A few hundredths of the tokens turn the \
             entropy over a decade.",
        )
        .figure(
            knob_chart(
                "knobs-coefficient",
                "Entropy over the coefficient of KL-Cov",
                ["Coefficient β", "Entropy after training (nats per token)"],
                &[Sweep {
                    name: "k = 0.05, large steps",
                    knobs: &COEFFICIENTS,
                    values: entropies(2),
                }],
                true,
            ),
            "The coefficient does little below 1, the size of the advantages, and much above.",
        )
        .figure(
            entropy_chart("knobs-curves", "Entropy under KL-Cov for four fractions", &named),
            "The larger the fraction, the earlier the entropy stops falling.",
        )
        .table(end_table(&sets))
        .note(
            "Below k of about 0.05 the entropies of neighbouring fractions overlap within the noise of a seed; the \
             paper's range, 2e-4 to 7e-4 of the tokens, lies far below what moves anything here.",
        )
}

/// Smallest ratio of entropy after training to that at the previous value of the knob, `[seeds]`.
fn smallest_steps(trials: &[Trial]) -> Vec<f64> {
    let ends: Vec<Vec<f64>> = trials.iter().map(|trial| trial.end(|point| point.entropy)).collect();
    let steps = |seed: usize| ends.windows(2).map(move |pair| pair[1][seed] / pair[0][seed]);
    (0..trials[0].seeds.len()).map(|seed| steps(seed).fold(f64::INFINITY, f64::min)).collect()
}

fn end_table(sets: &[(&str, [f64; 4], Vec<Trial>)]) -> Table {
    let columns = ["Knob", "Value", "Entropy (nat)", "Reward at T = 1", "at T = 0.6", "greedy"];
    let mut table = Table::new("After training, means over the seeds.", &columns);
    for (knob, values, trials) in sets {
        for (value, trial) in std::iter::zip(values, trials) {
            let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            table.row([
                (*knob).into(),
                (*value).into(),
                mean(trial.end(|point| point.entropy)).into(),
                mean(trial.end(|point| point.reward)).into(),
                mean(trial.end(|point| point.cool_reward)).into(),
                mean(trial.end(|point| point.greedy_reward)).into(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Scale;

    #[test]
    fn the_smallest_step_of_a_seed_is_the_one_that_may_fail() {
        let setting = Setting { scale: Scale::Quick, seed: 3, seeds: 3 };
        let arena = Arena::of(4, 1.0, 1, 1);
        let trials = arena.runs(&setting, &Progress::silent(), &[kl_cov(0.1, 1.0)]);
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
        let setting = Setting { scale: Scale::Quick, seed: 3, seeds: 3 };
        let arena = Arena::of(16, 1.0, 300, 50);
        let run = || run_in(&arena, &arena, &setting, &Progress::silent());
        let outcome = run();
        let entropies = &outcome.figures[0].chart.series[0].points;
        assert!(entropies[3].1 > 2.0 * entropies[0].1, "{entropies:?}");
        assert_eq!(outcome, run());
    }
}
