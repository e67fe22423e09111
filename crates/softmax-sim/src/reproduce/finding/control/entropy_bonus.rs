//! The entropy bonus: no effect, an optimum, an explosion.

use super::arena::{Arena, Trial};
use super::show::{entropy_chart, knob_chart, reward_chart, table};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::Method;

const COEFFICIENTS: [f64; 5] = [0.001, 0.03, 0.06, 0.1, 0.2];

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), setting, progress)
}

fn run_in(arena: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let mut methods = vec![("GRPO".to_owned(), Method::default())];
    let bonus = |alpha| (format!("α = {alpha}"), Method::default().with_entropy_bonus(alpha));
    methods.extend(COEFFICIENTS.map(bonus));
    let trials = arena.runs(setting, progress, methods);
    let bonus = &trials[1..];
    ExperimentResult::new(measures(&trials[0], bonus))
        .figure(entropy_chart("entropy-bonus-entropy", &trials))
        .figure(reward_chart("entropy-bonus-reward", &trials))
        .figure(knob_chart(
            "entropy-bonus-sweep",
            ["Coefficient α (reward per nat)", "Expected reward after training"],
            &[
                ("T = 1", &COEFFICIENTS, bonus, |point| point.reward),
                ("greedy", &COEFFICIENTS, bonus, |point| point.greedy_reward),
            ],
            false,
        ))
        .table(table("After training: mean over seeds, 0.95 interval.", &trials))
}

fn measures(baseline: &Trial, bonus: &[Trial]) -> Vec<Measure> {
    let [none, .., hold, explode] = bonus else { unreachable!("one trial a coefficient") };
    let gains: Vec<Vec<f64>> = bonus.iter().map(|trial| trial.reward_above(baseline)).collect();
    let best = (0..baseline.seeds.len())
        .map(|seed| gains.iter().map(|gain| gain[seed]).fold(f64::NEG_INFINITY, f64::max));
    let risen = explode.each(|run| run.end().entropy / run.curve.first().entropy);
    let gained = explode.each(|run| run.end().reward - run.curve.first().reward);
    let unmoved = none.entropy_over(baseline);
    let unmoved_target = Target::Between(0.75, 1.25);
    let exploded = explode.entropy_over(hold);
    vec![
        Measure::new("entropy at α = 0.001 over that of the baseline", unmoved, unmoved_target),
        Measure::new("entropy at α = 0.2 over the initial", risen, Target::AtLeast(1.0)),
        Measure::new("reward at α = 0.2 above the initial", gained, Target::AtMost(0.02)),
        Measure::new("entropy at α = 0.2 over that at 0.1", exploded, Target::AtLeast(20.0)),
        Measure::new("reward at the best α above the baseline", best, Target::AtMost(0.0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Verdict;

    #[test]
    fn a_bonus_explodes_and_a_tuned_one_is_said_to_win() {
        let arena = Arena::of(8, 1.0, 200, 50);
        let outcome = run_in(&arena, &Setting::SHORT, &Progress::silent());
        let met = |quantity: &str| {
            outcome.measures.iter().find(|m| m.quantity.starts_with(quantity)).unwrap().met
        };
        assert_eq!(met("entropy at α = 0.2 over the initial"), Some(true), "{}", outcome.reason);
        assert_eq!(met("reward at the best α"), Some(false), "{}", outcome.reason);
        assert_eq!(outcome.verdict, Verdict::InPart);
    }
}
