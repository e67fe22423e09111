//! The implicit process reward model that PRIME learns beside the policy.

use super::{rollout::Rollout, rows::Rows};
use crate::environment::Questions;
use rl_losses::outcome_cross_entropy;

/// Learning rate of the reward model over that of the policy: 1e-6 and 5e-7 in PRIME's scripts.
const RATE: f64 = 2.0;

/// Trains the `parameters` of a policy `φ` of which `β (log π_φ - log π_ref)` is the reward of a token, then judges tokens.
///
/// They learn from the outcomes of `rollout` by one step of their cross-entropy. The log-ratio of each of its tokens to
/// `reference` follows, `[tokens]`, in nats. `factor` is that of the policy's gradient over the same tokens.
pub(super) fn log_ratios(
    parameters: &mut [f64],
    questions: &Questions,
    rollout: &Rollout,
    reference: &[f64],
    (beta, factor): (f64, f64),
) -> Vec<f64> {
    let policy = Rows::of(questions, parameters, &rollout.prompts);
    let before = measure(&policy, questions, rollout, reference);
    let outcomes: Vec<bool> = rollout.rewards.iter().map(|reward| *reward > 0.5).collect();
    let lengths = vec![questions.shape().positions; outcomes.len()];
    let loss = outcome_cross_entropy(&before, &outcomes, &lengths, beta, outcomes.len())
        .expect("log-ratios of finite policies, one for each token");
    let d_logits = policy.d_logits(questions, rollout.tokens(), &loss.grad_log_prob);
    questions.descend(parameters, &rollout.prompts, &d_logits, RATE * factor);
    let policy = Rows::of(questions, parameters, &rollout.prompts);
    measure(&policy, questions, rollout, reference)
}

/// Log-ratio of each token under a model of this policy.
fn measure(policy: &Rows, questions: &Questions, rollout: &Rollout, reference: &[f64]) -> Vec<f64> {
    let (tokens, sizes) = (rollout.tokens(), questions.states_and_actions());
    let reference = tokens.values_in(reference, &rollout.prompts, sizes);
    std::iter::zip(policy.log_prob_of_tokens(tokens), reference).map(|(x, y)| x - y).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Parameters, Shape};

    /// One prompt, one token of two actions, both sampled, the first one right. The cross-entropy's slope is -1/4 for the right
    /// token and 1/4 for the other, so a factor of 1 moves the logits by 1/2 each: towards what is right.
    #[test]
    fn one_step_by_hand() {
        let shape = Shape { prompts: 1, positions: 1, actions: 2 };
        let questions = Questions::new(shape, vec![1.0, 0.0], Parameters::Logits).unwrap();
        let rollout = Rollout {
            prompts: vec![0],
            actions: vec![0, 1],
            states: vec![0, 0],
            rewards: vec![1.0, 0.0],
            ..Rollout::default()
        };
        let half = 0.5f64.ln();
        let reference = [half, half];
        let log_ratio = log_ratios(&mut [0.0; 2], &questions, &rollout, &reference, (1.0, 1.0));
        let logistic = |x: f64| -(-x).exp().ln_1p();
        for (computed, logit) in std::iter::zip(log_ratio, [1.0, -1.0]) {
            assert!((computed - (logistic(logit) - half)).abs() < 1e-12, "{computed}");
        }
    }
}
