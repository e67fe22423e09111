//! A custom loss from outside the registry runs on the same plan, aggregation and sums; and the example of one runs.

use rl_losses::{
    Aggregation, LossSums, PolicyLoss, PpoClip, Real, Sapo, Scored, StepPlan, Term, Token,
    TokenBatch, TokenColumns, TokenLoss, evaluate_loss,
};

use crate::batches::token_weights;

#[path = "../../examples/custom_loss.rs"]
#[expect(dead_code, reason = "its `main` is for the command line")]
mod custom_loss;

/// PPO's surrogate without dual clip, written again: the registry's own gives the expected numbers.
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
    let weights = token_weights(&Aggregation::SeqMeanTokenMean, &lengths);
    let plan = StepPlan::new(vec![false; 1200], weights);
    let custom = evaluate_loss(&Clipped, &batch, plan.part(0..1200));
    let twin: PolicyLoss = toml::from_str("[ppo-clip]\nclip_ratio_c = \"off\"").unwrap();
    assert_ne!(twin, PolicyLoss::PpoClip(PpoClip::default()));
    assert_eq!(custom, twin.evaluate(&batch, plan.part(0..1200)));
    assert!(custom.sums.clipped > 100, "{:?}", custom.sums);

    // Parts that split a sequence add up.
    let parts = [0..300, 300..1200]
        .map(|run| evaluate_loss(&Clipped, &batch.part(run.clone()), plan.part(run)));
    assert!((parts[0].value + parts[1].value - custom.value).abs() < 1e-12);
    assert_eq!(
        [&parts[0].grad_log_prob[..], &parts[1].grad_log_prob].concat(),
        custom.grad_log_prob
    );
}

/// A method that clamps log-ratios does so by itself, too.
#[test]
fn a_method_by_itself_is_the_one_of_the_registry() {
    let (log_prob, old_log_prob) = ([-0.5, -31.0, -1.0, -32.0], [-30.5, -1.0, -1.5, -2.0]);
    let columns = TokenColumns {
        log_prob: &log_prob,
        old_log_prob: &old_log_prob,
        advantage: &[1.0, 1.0, -1.0, -1.0],
    };
    let batch = TokenBatch::new(columns, &[4]).unwrap();
    let plan = StepPlan::new(vec![false; 4], vec![0.25; 4]);
    let registered = PolicyLoss::Sapo(Sapo::default()).evaluate(&batch, plan.part(0..4));
    assert_eq!(evaluate_loss(&Sapo::default(), &batch, plan.part(0..4)), registered);
    assert!((registered.sums.abs_log_ratio - 60.5).abs() < 1e-9, "{:?}", registered.sums);
}

/// `-r A` of the ratio as the evaluation gives it; tokens with a clamped ratio count as altered.
struct Held(Option<f64>);

impl TokenLoss for Held {
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let value = -token.ratio * token.advantage;
        Scored::open(Term { value, d_log_prob: value }, token.held)
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        self.0
    }
}

/// Values of tokens that moved by so many nats, `Σ -log r` and `Σ |log r|`, and the number of clamped ratios.
fn held<R: Real>(loss: &Held, moves: &[f64]) -> (Vec<f64>, (f64, f64), usize) {
    let log_prob: Vec<R> = moves.iter().map(|&x| R::of(x)).collect();
    let (zeros, ones) = (vec![R::of(0.0); moves.len()], vec![R::of(-1.0); moves.len()]);
    let columns = TokenColumns { log_prob: &log_prob, old_log_prob: &zeros, advantage: &ones };
    let lengths = [moves.len()];
    let batch = TokenBatch::new(columns, &lengths).expect("finite columns");
    let plan = StepPlan::new(vec![false; moves.len()], vec![1.0; moves.len()]);
    let evaluation = evaluate_loss(loss, &batch, plan.part(0..moves.len()));
    let slopes = evaluation.grad_log_prob.iter().map(|slope| slope.to_f64()).collect();
    let LossSums { neg_log_ratio, abs_log_ratio, altered, .. } = evaluation.sums;
    (slopes, (neg_log_ratio, abs_log_ratio), altered)
}

#[test]
fn a_loss_says_where_the_log_ratio_is_held() {
    let moves = [-90.0, -2.0, 0.25, 0.5, 3.0];
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
    for (ratios, sums, held) in
        [held::<f64>(&Held(Some(0.5)), &moves), held::<f32>(&Held(Some(0.5)), &moves)]
    {
        let expected = [-0.5f64, -0.5, 0.25, 0.5, 0.5].map(f64::exp);
        assert!(std::iter::zip(ratios, expected).all(|(ratio, expected)| near(ratio, expected)));
        assert_eq!((sums, held), ((-0.25, 2.25), 3));
    }
    // Without a limit, and with one that the exponential in `f32` cannot reach, the exponential's own holds the ratio alone.
    for limit in [None, Some(100.0)] {
        let (ratios, sums, held) = held::<f32>(&Held(limit), &moves);
        let expected = [-80.0f64, -2.0, 0.25, 0.5, 3.0].map(f64::exp);
        assert!(std::iter::zip(ratios, expected).all(|(ratio, expected)| near(ratio, expected)));
        assert_eq!((sums, held), ((88.25, 95.75), 1));
    }
    let (ratios, _, held) = held::<f64>(&Held(None), &moves);
    assert!(near(ratios[0], (-90.0f64).exp()) && held == 0, "{ratios:?}");
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
    let (grpo, custom) = (slopes(lines[0]), slopes(lines[1]));
    assert_eq!((grpo.len(), custom.len()), (8, 8));
    for unmoved in [1, 4] {
        assert!(
            (custom[unmoved] + 1.5 / 8.0).abs() < 1e-4
                && (custom[unmoved] - grpo[unmoved]).abs() < 1e-4
        );
    }
}
