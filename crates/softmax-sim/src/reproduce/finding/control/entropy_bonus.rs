//! The entropy bonus: no effect, an optimum, an explosion.

use super::arena::{Arena, Trial};
use super::show::{Named, Sweep, entropy_chart, knob_chart, reward_chart, table};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::Method;

/// The finding.
pub(in super::super) const FINDING: Finding = Finding {
    name: "entropy-bonus",
    title: "The entropy bonus does nothing, then helps, then explodes",
    claim: "Small coefficients do not change the entropy, large ones make it explode. One in between holds the \
            entropy but does not outperform the baseline. Section 4.1, Figure 9.",
    method: "GRPO with an exact entropy bonus of coefficient α, reward per nat, on the token world of entropy control \
             (C2): 256 prompts, eight tokens of eight actions, learning rate 0.3, 3000 rollouts of 8 samples a prompt, \
             4 mini-batches, 2 epochs. Entropy and expected reward are exact.",
    target: "With α = 0.001 entropy after training within a quarter of that without; with α = 0.2 entropy \
             above the initial and reward less than 0.02 above the initial; at least 20 times as much entropy at α = 0.2 \
             as at 0.1. And, as the paper has it, no reward above the baseline for any α.",
    theory: &["entropy-bonus"],
    sources: &[include_str!("entropy_bonus.rs"), include_str!("arena.rs"), include_str!("show.rs")],
    run,
};

const COEFFICIENTS: [f64; 5] = [0.001, 0.03, 0.06, 0.1, 0.2];

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), setting, progress)
}

fn run_in(arena: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let mut methods = vec![Method::default()];
    methods.extend(COEFFICIENTS.map(|alpha| Method::default().with_entropy_bonus(alpha)));
    let trials = arena.runs(setting, progress, &methods);
    let bonus = &trials[1..];
    let labels = COEFFICIENTS.map(|alpha| format!("α = {alpha}"));
    let mut named: Vec<Named> = vec![("GRPO", &trials[0])];
    named.extend(labels.iter().map(String::as_str).zip(bonus));
    let rewards = bonus.iter().map(|trial| trial.end(|point| point.reward)).collect();
    let greedy = bonus.iter().map(|trial| trial.end(|point| point.greedy_reward)).collect();
    ExperimentResult::new(measures(&trials[0], bonus))
        .figure(
            entropy_chart("entropy-bonus-entropy", "Entropy under an entropy bonus", &named),
            "Means with 0.95 intervals over the seeds. Between two neighbouring coefficients the entropy stops falling \
             and explodes instead.",
        )
        .figure(
            reward_chart("entropy-bonus-reward", "Reward under an entropy bonus", &named),
            "The coefficient just below the explosion has the highest reward of all.",
        )
        .figure(
            knob_chart(
                "entropy-bonus-sweep",
                "Reward over the coefficient of the bonus",
                ["Coefficient α (reward per nat)", "Expected reward after training"],
                &[
                    Sweep { name: "T = 1", knobs: &COEFFICIENTS, values: rewards },
                    Sweep { name: "greedy", knobs: &COEFFICIENTS, values: greedy },
                ],
                false,
            ),
            "The optimum lies within a factor of two of the collapse of reward.",
        )
        .table(table("After training: mean over seeds, 0.95 interval.", &named))
        .note(NOTE)
}

const NOTE: &str = "The last target is the paper's own statement and does not hold here: a tuned bonus beats the baseline by \
     far, and here no method does better. Why: these rewards leave room to explore, the bonus is exact in every \
     state, and there is no vocabulary of 10⁵ tokens for it to spread probability over. What does reproduce is the \
     sensitivity: no effect, an optimum and an explosion, the last two within a factor of two.";

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
