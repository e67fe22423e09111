//! A loss from outside the registry runs on the same plan, aggregation and sums; and the example of one runs.

use rl_losses::{
    Aggregation, PolicyLoss, PpoClip, Real, Scored, StepPlan, Term, Token, TokenBatch,
    TokenColumns, TokenLoss, evaluate_loss,
};

#[path = "../../examples/custom_loss.rs"]
#[expect(dead_code, reason = "its `main` is for the command line")]
mod custom_loss;

/// PPO's surrogate without dual clip, by hand: its twin in the registry says what to expect.
struct Clipped;

impl TokenLoss for Clipped {
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (zero, ratio) = (R::of(0.0), token.log_ratio().exp());
        let held = ratio.held(R::of(0.8), R::of(1.2));
        let (plain, clipped) = (-ratio * token.advantage, -held * token.advantage);
        let is_flat = clipped > plain;
        let value = plain.greater(clipped);
        let term = Term { value, d_log_prob: if is_flat { zero } else { value } };
        Scored { clipped: is_flat, ..Scored::open(term, is_flat) }
    }
}

#[test]
fn an_own_loss_is_evaluated_as_one_of_the_registry() {
    let log_prob: Vec<f64> = (0..1200).map(|t| -1.0 - f64::from(t % 7) * 0.2).collect();
    let old_log_prob: Vec<f64> = (0..1200).map(|t| -1.0 - f64::from(t % 5) * 0.25).collect();
    let advantage: Vec<f64> = (0..1200).map(|t| f64::from(t % 3) - 1.0).collect();
    let columns =
        TokenColumns { log_prob: &log_prob, old_log_prob: &old_log_prob, advantage: &advantage };
    let lengths = [700, 1, 499];
    let batch = TokenBatch::new(columns, &lengths).unwrap();
    let weights = Aggregation::SeqMeanTokenMean.token_weights(&lengths);
    let plan = StepPlan::new(vec![false; 1200], weights);
    let own = evaluate_loss(&Clipped, &batch, plan.part(0..1200));
    let twin: PolicyLoss = toml::from_str("[ppo-clip]\nclip_ratio_c = \"off\"").unwrap();
    assert_ne!(twin, PolicyLoss::PpoClip(PpoClip::default()));
    assert_eq!(own, twin.evaluate(&batch, plan.part(0..1200)));
    assert!(own.sums.clipped > 100, "{:?}", own.sums);

    // Parts, that cut a sequence, add up.
    let parts = [0..300, 300..1200]
        .map(|run| evaluate_loss(&Clipped, &batch.part(run.clone()), plan.part(run)));
    assert!((parts[0].value + parts[1].value - own.value).abs() < 1e-12);
    assert_eq!([&parts[0].grad_log_prob[..], &parts[1].grad_log_prob].concat(), own.grad_log_prob);
}

#[test]
fn the_example_prints_its_loss_beside_grpo_and_checks_its_derivative() {
    let mut out = Vec::new();
    custom_loss::run(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("GRPO "), "{text}");
    assert!(lines[1].starts_with("smooth wall ") && lines[1].contains("selected 2"), "{text}");
    // A token that has not moved has the slope of the policy gradient, -A / tokens, under both.
    let slopes = |line: &str| -> Vec<f64> {
        let after = line.split("∂log π").nth(1).expect("the slopes stand last");
        after.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    };
    let (grpo, own) = (slopes(lines[0]), slopes(lines[1]));
    assert_eq!((grpo.len(), own.len()), (8, 8));
    for unmoved in [1, 4] {
        assert!(
            (own[unmoved] + 1.5 / 8.0).abs() < 1e-4 && (own[unmoved] - grpo[unmoved]).abs() < 1e-4
        );
    }
}
