//! The penalty on the divergence from the reference policy: it holds the entropy and costs reward.

use super::arena::Arena;
use super::show::{Named, entropy_chart, reward_chart, table};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::Method;

/// The finding.
pub(in super::super) const FINDING: Finding = Finding {
    name: "reference-kl",
    title: "A reference KL that holds the entropy costs reward",
    claim: "A KL penalty to a reference policy stabilises entropy but performs worse than no penalty. Section \
            4.1, Figure 10.",
    method: "GRPO with an exact penalty β KL(π ‖ π_ref) to the initial policy on the token world of entropy control: small \
             steps (C2, learning rate 0.3, 3000 rollouts) for the targets; large steps (C1, learning rate 1, 1500 \
             rollouts) beside them.",
    target: "On C2: with β = 0.1 at least 8 times the entropy of the baseline and a reward at least 0.03 below \
             it; with β = 0.3 a reward of at most 0.3.",
    theory: &["reference-kl", "same-curve"],
    sources: &[include_str!("reference_kl.rs"), include_str!("arena.rs"), include_str!("show.rs")],
    run,
};

const COEFFICIENTS: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
const NAMES: [&str; 4] = ["β = 0.01", "β = 0.03", "β = 0.1", "β = 0.3"];

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let [slow, fast] = [Arena::slow(setting), Arena::fast(setting)];
    run_in(&slow, &fast, setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let mut methods = vec![Method::default()];
    methods.extend(COEFFICIENTS.map(|beta| Method::default().with_reference_kl(beta)));
    let trials = slow.runs(setting, progress, &methods);
    let large = fast.runs(setting, progress, &methods[..3]);
    let [baseline, .., hold, strong] = &trials[..] else { return ExperimentResult::new(vec![]) };
    let gain = |index: usize, trials: &[super::arena::Trial]| {
        trials[index].against(&trials[0], |run, base| run.reward - base.reward)
    };
    let mut measures = vec![
        Measure::new(
            "entropy at β = 0.1 over that of the baseline",
            "1",
            hold.entropy_over(baseline),
            Target::AtLeast(8.0),
        ),
        Measure::new(
            "reward at β = 0.1 above the baseline",
            "1",
            gain(3, &trials),
            Target::AtMost(-0.03),
        ),
        Measure::new("reward at β = 0.3", "1", strong.end(|p| p.reward), Target::AtMost(0.3)),
    ];
    for (index, name) in [(1, NAMES[0]), (2, NAMES[1])] {
        let quantity = |steps: &str| format!("reward at {name} above the baseline, {steps} steps");
        measures.push(Measure::new(&quantity("small"), "1", gain(index, &trials), Target::None));
        measures.push(Measure::new(&quantity("large"), "1", gain(index, &large), Target::None));
    }
    let mut named: Vec<Named> = vec![("GRPO", baseline)];
    named.extend(std::iter::zip(NAMES, &trials[1..]));
    let mut named_large: Vec<Named> = vec![("GRPO", &large[0])];
    named_large.extend(std::iter::zip(NAMES, &large[1..]));
    ExperimentResult::new(measures)
        .figure(
            entropy_chart("reference-kl-entropy", "Entropy under a reference KL", &named),
            "Means with 95 % intervals over the seeds. The stronger the penalty, the earlier the entropy stops falling.",
        )
        .figure(
            reward_chart("reference-kl-reward", "Reward under a reference KL", &named),
            "The penalty that stops the entropy stops the reward as well.",
        )
        .table(table("Small steps (C2), after training: mean over seeds, 95 % interval.", &named))
        .table(table(
            "Large steps (C1), after training: mean over seeds, 95 % interval.",
            &named_large,
        ))
        .note(
            "The claim holds for penalties strong enough to hold the entropy. A weak one, β = 0.01 to 0.03, helps a \
             little here, more so with large steps, where it undoes premature commitment: \"always hurts\" would be \
             too strong.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Scale;

    #[test]
    fn a_strong_penalty_holds_entropy_and_reward_where_they_began() {
        let setting = Setting { scale: Scale::Quick, seed: 3, seeds: 3 };
        let arena = Arena::of(8, 1.0, 200, 50);
        let run = || run_in(&arena, &arena, &setting, &Progress::silent());
        let outcome = run();
        let rewards = &outcome.measures[2];
        let held = |reward: &f64| rewards.target.is_met(*reward) == Some(true);
        assert!(rewards.values.iter().all(held), "{}", outcome.reason);
        assert_eq!(outcome.measures[3].values, outcome.measures[4].values, "the same arena twice");
        assert_eq!(outcome, run());
    }
}
