//! The penalty on the divergence from the reference policy: it holds the entropy and costs reward.

use super::arena::{Arena, Trial};
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
const NAMES: [&str; 5] = ["GRPO", "β = 0.01", "β = 0.03", "β = 0.1", "β = 0.3"];

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let mut methods = vec![Method::default()];
    methods.extend(COEFFICIENTS.map(|beta| Method::default().with_reference_kl(beta)));
    let small = slow.runs(setting, progress, &methods);
    let large = fast.runs(setting, progress, &methods[..3]);
    let named: Vec<Named> = std::iter::zip(NAMES, &small).collect();
    let named_large: Vec<Named> = std::iter::zip(NAMES, &large).collect();
    let heading = |steps: &str| format!("{steps}, after training: mean over seeds, 0.95 interval.");
    ExperimentResult::new(measures(&small, &large))
        .figure(
            entropy_chart("reference-kl-entropy", "Entropy under a reference KL", &named),
            "Means with 0.95 intervals over the seeds. The stronger the penalty, the earlier the entropy stops falling.",
        )
        .figure(
            reward_chart("reference-kl-reward", "Reward under a reference KL", &named),
            "The penalty that stops the entropy stops the reward as well.",
        )
        .table(table(&heading("Small steps (C2)"), &named))
        .table(table(&heading("Large steps (C1)"), &named_large))
        .note(
            "The claim holds for penalties strong enough to hold the entropy. A weak one, β = 0.01 to 0.03, helps a \
             little here, more so with large steps, where it undoes premature commitment: \"always hurts\" would be \
             too strong.",
        )
}

fn measures(small: &[Trial], large: &[Trial]) -> Vec<Measure> {
    let (hold, strong) = (&small[3], &small[4]);
    let kept = hold.entropy_over(&small[0]);
    let lost = hold.reward_above(&small[0]);
    let low = strong.end(|point| point.reward);
    let mut measures = vec![
        Measure::new("entropy at β = 0.1 over that of the baseline", kept, Target::AtLeast(8.0)),
        Measure::new("reward at β = 0.1 above the baseline", lost, Target::AtMost(-0.03)),
        Measure::new("reward at β = 0.3", low, Target::AtMost(0.3)),
    ];
    for index in [1, 2] {
        for (steps, trials) in [("small", small), ("large", large)] {
            let quantity = format!("reward at {} above the baseline, {steps} steps", NAMES[index]);
            let gain = trials[index].reward_above(&trials[0]);
            measures.push(Measure::new(quantity, gain, Target::None));
        }
    }
    measures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strong_penalty_holds_entropy_and_reward_where_they_began() {
        let arena = Arena::of(8, 1.0, 200, 50);
        let outcome = run_in(&arena, &arena, &Setting::SHORT, &Progress::silent());
        let rewards = &outcome.measures[2];
        let held = |reward: &f64| rewards.target.is_met(*reward) == Some(true);
        assert!(rewards.values.iter().all(held), "{}", outcome.reason);
        assert_eq!(outcome.measures[3].values, outcome.measures[4].values, "the same arena twice");
    }
}
