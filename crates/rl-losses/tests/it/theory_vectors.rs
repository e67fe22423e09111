//! The recorded advantages and token losses in many digits, which `entropy-core` keeps.

use rl_losses::{
    AdvantageEstimator, Aggregation, Centering, ClipCov, ClipRange, CovarianceBand, DualClip,
    KlCov, PolicyLoss, PpoClip, ReinforcePlusPlus, RolloutColumns, Scope, Semantics, TokenBatch,
    TokenColumns, informative_groups,
};
use serde_json::Value;

use crate::batches::{seeded, with_selected};

fn oracle(key: &str) -> Vec<Value> {
    let text = include_str!("../../../entropy-core/tests/data/theory_vectors.json");
    let json: Value = serde_json::from_str(text).expect("valid JSON");
    json[key].as_array().expect("cases").clone()
}

/// Decimal strings in any nesting, laid end to end.
fn numbers(json: &Value) -> Vec<f64> {
    match json {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::String(digits) => vec![digits.parse().expect("a decimal number")],
        other => vec![other.as_f64().expect("a number")],
    }
}

fn positions(json: &Value) -> Vec<usize> {
    serde_json::from_value(json.clone()).expect("positions")
}

fn assert_all_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (computed, expected)) in std::iter::zip(found, expected).enumerate() {
        let close = (computed - expected).abs() <= 1e-12 * expected.abs().max(1.0);
        assert!(close, "{what}, entry {index}: {computed}, recorded {expected}");
    }
}

#[test]
fn recorded_advantages_are_met() {
    let cases = oracle("advantage_cases");
    for case in &cases {
        let groups = case["rewards"].as_array().expect("groups");
        let sizes: Vec<usize> =
            groups.iter().map(|group| group.as_array().expect("rewards").len()).collect();
        let rewards = numbers(&case["rewards"]);
        // Responses of one token: a token's advantage is its response's.
        let lengths = vec![1; rewards.len()];
        let columns = RolloutColumns {
            rewards: &rewards,
            group_sizes: &sizes,
            sequence_lengths: &lengths,
            ..RolloutColumns::default()
        };
        let plus_plus = AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus::default());
        for (estimator, name) in [
            (AdvantageEstimator::Grpo, "grpo"),
            (AdvantageEstimator::DrGrpo, "dr_grpo"),
            (AdvantageEstimator::Rloo, "rloo"),
            (plus_plus, "reinforce_pp_flat"),
            (AdvantageEstimator::ReinforcePlusPlusBaseline, "reinforce_pp_baseline_flat"),
        ] {
            let advantages = estimator.advantages(&columns).expect("columns of one batch");
            assert_all_close(&advantages, &numbers(&case[name]), name);
        }
        let kept = informative_groups(&rewards, &sizes);
        let expected: Vec<bool> =
            serde_json::from_value(case["group_kept_by_dynamic_sampling"].clone()).expect("marks");
        assert_eq!(kept, expected);
    }
    assert_eq!(cases.len(), 2);
}

#[test]
fn recorded_token_losses_are_met() {
    let cases = oracle("token_cases");
    for case in &cases {
        let column = |key: &str| numbers(&case[key]);
        let number = |key: &str| numbers(&case[key])[0];
        assert!(column("mask").iter().all(|&mask| mask > 0.0), "no padding is recorded");
        let (log_prob, old_log_prob, advantage) =
            (column("logp"), column("old_logp"), column("adv"));
        let lengths = [log_prob.len()];
        let columns = TokenColumns {
            log_prob: &log_prob,
            old_log_prob: &old_log_prob,
            advantage: &advantage,
        };
        let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
        let clip = ClipRange::new(number("eps_lo"), number("eps_hi")).expect("bounds");
        let band = CovarianceBand::new(number("omega_low"), number("omega_high")).expect("a band");
        let clip_cov = ClipCov::new(1.0, band, clip).expect("a share").with(
            Centering::Batch,
            Scope::MiniBatch,
            Semantics::Exact,
        );
        let kl_cov = KlCov::new(number("k"), number("beta")).expect("a share");

        let covariances = entropy_core::token_covariances(&advantage, &log_prob);
        assert_all_close(&covariances, &column("cov"), "covariances");
        let loss = PolicyLoss::ClipCov(clip_cov);
        let eligible = loss.eligible(&batch).expect("no further column");
        assert_eq!(eligible, positions(&case["clipcov_candidates"]));

        for (loss, name, selected) in [
            (PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF)), "ppo", None),
            (PolicyLoss::KlCov(kl_cov), "klcov", Some("klcov_topk_sorted_desc")),
            (PolicyLoss::ClipCov(clip_cov), "clipcov", Some("clipcov_selected")),
        ] {
            let plan = loss
                .plan(&batch, &Aggregation::TokenMean, &mut seeded(0))
                .expect("no further column");
            let mut expected = selected.map_or_else(Vec::new, |key| positions(&case[key]));
            expected.sort_unstable();
            if name == "klcov" {
                assert_eq!(plan.selected_tokens(), expected);
            }
            // Which of the eligible are dropped is a draw.
            let marks: Vec<bool> =
                (0..batch.len()).map(|token| expected.contains(&token)).collect();
            let plan = with_selected(plan, &marks);
            let output = loss.evaluate(&batch, plan.part(0..batch.len()));
            assert_all_close(&[output.value], &column(&format!("{name}_loss")), name);
            let slopes: Vec<f64> =
                output.grad_log_prob.iter().map(|slope| slope * batch.len() as f64).collect();
            assert_all_close(&slopes, &column(&format!("{name}_dloss_dlogp")), name);
            if name == "ppo" {
                let clipped = case["ppo_clipped"].as_array().expect("marks");
                let clipped = clipped.iter().filter(|&mark| *mark == Value::Bool(true)).count();
                assert_eq!(output.sums.clipped, clipped);
            }
        }
    }
    assert_eq!(cases.len(), 2);
}
