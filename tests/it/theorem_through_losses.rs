//! A theorem through the losses: what is proved of the policy gradient holds for the loss that the
//! trainer evaluates.

use entropy_core::Categorical;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_losses::{Aggregation, KlCov, PolicyLoss, PpoClip, StepPlan, TokenBatch, TokenColumns};

const ACTIONS: usize = 12;

/// A random state: its policy and the advantage of each action, which need not be centred.
fn state(seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut column = |reach: f64| (0..ACTIONS).map(|_| rng.random_range(-reach..reach)).collect();
    (column(2.0), column(1.0))
}

/// Exact expected gradient of an on-policy loss with respect to the logits: every action is one
/// token whose weight is its probability.
fn expected_gradient(loss: &PolicyLoss, policy: &Categorical, advantage: &[f64]) -> Vec<f64> {
    let columns =
        TokenColumns { log_prob: policy.log_probs(), old_log_prob: policy.log_probs(), advantage };
    let lengths = [1; ACTIONS];
    let batch = TokenBatch::new(columns, &lengths).expect("one value per action");
    let planned = loss.plan(&batch, &Aggregation::TokenMean, &mut ChaCha8Rng::seed_from_u64(0));
    let selected = planned.expect("no further column is needed").selected();
    let plan = StepPlan::new(selected, policy.probs().to_vec());
    let output = loss.evaluate(&batch, plan.part(0..ACTIONS));
    let mut gradient = vec![0.0; ACTIONS];
    for (action, slope) in output.grad_log_prob.into_iter().enumerate() {
        policy.vjp_log_prob(action, slope, &mut gradient);
    }
    gradient
}

fn losses() -> [PolicyLoss; 2] {
    [PolicyLoss::PpoClip(PpoClip::default()), PolicyLoss::KlCov(KlCov::default())]
}

/// Proposition 1, with the baseline that the softmax supplies: `∂L/∂z_a = -π_a (A_a - E A)`.
#[test]
fn expected_loss_gradient_is_the_policy_gradient() {
    for seed in 0..20 {
        let (logits, advantage) = state(seed);
        let policy = Categorical::from_logits(&logits).unwrap();
        let mean: f64 = std::iter::zip(policy.probs(), &advantage).map(|(p, a)| p * a).sum();
        for loss in losses() {
            let gradient = expected_gradient(&loss, &policy, &advantage);
            for action in 0..ACTIONS {
                let expected = -policy.probs()[action] * (advantage[action] - mean);
                let computed = gradient[action];
                assert!((computed - expected).abs() < 1e-14, "seed {seed}: {computed}, {expected}");
            }
        }
    }
}

/// Theorem 1: descending the loss changes the entropy by `-η Cov(log π, π (A - E A))`, up to a
/// remainder of second order in `η`.
#[test]
fn descending_the_loss_changes_the_entropy_as_theorem_1_says() {
    for seed in 0..20 {
        let (logits, advantage) = state(seed);
        let policy = Categorical::from_logits(&logits).unwrap();
        let mean: f64 = std::iter::zip(policy.probs(), &advantage).map(|(p, a)| p * a).sum();
        let push: Vec<f64> =
            std::iter::zip(policy.probs(), &advantage).map(|(p, a)| p * (a - mean)).collect();
        let covariance = policy.covariance(policy.log_probs(), &push);
        for loss in losses() {
            let gradient = expected_gradient(&loss, &policy, &advantage);
            let remainder = |eta: f64| {
                let moved: Vec<f64> =
                    std::iter::zip(&logits, &gradient).map(|(z, g)| z - eta * g).collect();
                let change = Categorical::from_logits(&moved).unwrap().entropy() - policy.entropy();
                change + eta * covariance
            };
            let (coarse, fine) = (remainder(0.1), remainder(0.05));
            assert!(coarse.abs() > 1e-9, "seed {seed}: no remainder to read an order from");
            let ratio = coarse / fine;
            assert!((3.5..4.5).contains(&ratio), "seed {seed}: the remainder fell {ratio}-fold");
        }
    }
}
