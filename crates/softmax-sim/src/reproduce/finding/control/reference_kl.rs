//! The penalty on the divergence from the reference policy: it holds the entropy and costs reward.

use super::arena::{Arena, Trial};
use super::show::{entropy_chart, reward_chart, tables};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::Method;

const COEFFICIENTS: [f64; 5] = [0.0, 0.01, 0.03, 0.1, 0.3];

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let small = slow.runs(setting, progress, COEFFICIENTS.map(method));
    let large = fast.runs(setting, progress, COEFFICIENTS[..3].iter().copied().map(method));
    let [small_table, large_table] = tables(&small, &large);
    ExperimentResult::new(measures(&small, &large))
        .figure(entropy_chart("reference-kl-entropy", &small))
        .figure(reward_chart("reference-kl-reward", &small))
        .table(small_table)
        .table(large_table)
}

/// GRPO with a penalty of coefficient `beta`, by its name.
fn method(beta: f64) -> (String, Method) {
    let name = if beta > 0.0 { format!("β = {beta}") } else { "GRPO".to_owned() };
    (name, Method::default().with_reference_kl(beta))
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
            let trial = &trials[index];
            let quantity = format!("reward at {} above the baseline, {steps} steps", trial.name);
            let gain = trial.reward_above(&trials[0]);
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
