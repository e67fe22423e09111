//! Clip-Cov and KL-Cov against GRPO, with the controls that tell what does the work.

use super::arena::{Arena, Trial, clip_cov, grpo_clipped, kl_cov, unclipped};
use super::show::{entropy_chart, reward_chart, tables};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::{CurvePoint, Method};

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

/// Methods with small steps, by name.
fn small_steps() -> [(&'static str, Method); 7] {
    [
        ("GRPO", grpo_clipped(0.2)),
        ("no clip (k = 0)", unclipped()),
        ("KL-Cov, k = 0.05", kl_cov(0.05, 1.0)),
        ("KL-Cov, k = 0.15", kl_cov(0.15, 1.0)),
        ("Clip-Cov, r = 0.03", clip_cov(0.03)),
        ("KL-Cov, the paper's k = 0.002", kl_cov(2e-3, 1.0)),
        ("Clip-Cov, the paper's r = 0.0002", clip_cov(2e-4)),
    ]
}

/// Methods with large steps, by name.
fn large_steps() -> [(&'static str, Method); 5] {
    [
        ("GRPO", grpo_clipped(0.2)),
        ("no clip (k = 0)", unclipped()),
        ("KL-Cov, k = 0.05", kl_cov(0.05, 1.0)),
        ("KL-Cov, k = 0.2", kl_cov(0.2, 1.0)),
        ("Clip-Cov, r = 0.03", clip_cov(0.03)),
    ]
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let small = slow.runs(setting, progress, small_steps());
    let large = fast.runs(setting, progress, large_steps());
    let [small_table, large_table] = tables(&small, &large);
    ExperimentResult::new(measures(&small, &large))
        .figure(entropy_chart("clip-cov-kl-cov-entropy", &small[..5]))
        .figure(reward_chart("clip-cov-kl-cov-reward", &small[..5]))
        .table(small_table)
        .table(large_table)
}

fn measures(small: &[Trial], large: &[Trial]) -> Vec<Measure> {
    let grpo = &small[0];
    let cool = |run: &CurvePoint, base: &CurvePoint| run.cool_reward - base.cool_reward;
    let greedy = |run: &CurvePoint, base: &CurvePoint| run.greedy_reward - base.greedy_reward;
    let mut measures = vec![];
    let mut add = |quantity: String, values, target| {
        measures.push(Measure::new(quantity, values, target));
    };
    let fitted = &small[3..5];
    for trial in fitted {
        let name = &trial.name;
        let over = trial.entropy_over(grpo);
        add(format!("{name}: entropy over GRPO's"), over, Target::AtLeast(8.0));
        let gain = trial.against(grpo, greedy);
        add(format!("{name}: greedy reward above GRPO"), gain, Target::AtLeast(0.04));
    }
    let gain = small[2].reward_above(grpo);
    add("KL-Cov, k = 0.05: reward above GRPO".to_owned(), gain, Target::AtLeast(0.04));
    for trial in fitted {
        let quantity = format!("{}: reward at T = 0.6 above GRPO", trial.name);
        add(quantity, trial.against(grpo, cool), Target::None);
    }
    for (quantity, values) in [
        ("no clip: entropy over GRPO's", small[1].entropy_over(grpo)),
        ("no clip: reward above GRPO", small[1].reward_above(grpo)),
        ("the paper's k: entropy over GRPO's", small[5].entropy_over(grpo)),
        ("the paper's r: entropy over GRPO's", small[6].entropy_over(grpo)),
        ("large steps, no clip: reward above GRPO", large[1].reward_above(&large[0])),
        ("large steps, KL-Cov, k = 0.05: reward above no clip", large[2].reward_above(&large[1])),
    ] {
        add(quantity.to_owned(), values, Target::None);
    }
    measures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_kept_by_the_fitted_fractions_and_not_by_those_of_the_paper() {
        let arena = Arena::of(8, 1.0, 300, 50);
        let outcome = run_in(&arena, &arena, &Setting::SHORT, &Progress::silent());
        let mean = |quantity: &str| {
            outcome.measures.iter().find(|m| m.quantity == quantity).unwrap().interval.mean
        };
        let fitted = mean("KL-Cov, k = 0.15: entropy over GRPO's");
        assert!(fitted > 2.0, "{outcome:?}");
        assert!(mean("no clip: entropy over GRPO's") < 1.0);
        assert!(mean("the paper's k: entropy over GRPO's") < fitted);
    }
}
