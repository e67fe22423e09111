//! The implicit process reward model that PRIME learns beside the policy.

use super::{rollout::Rollout, update::Workspace};
use crate::environment::Questions;
use rl_losses::outcome_cross_entropy;

/// Learning rate of the reward model over that of the policy: 1e-6 and 5e-7 in PRIME's scripts.
const RATE: f64 = 2.0;

/// A policy `φ` of which `β (log π_φ - log π_ref)` is the reward of a token; both start as the policy does.
#[derive(Debug, Clone)]
pub(crate) struct RewardModel {
    parameters: Vec<f64>,
    workspace: Workspace,
}

impl RewardModel {
    /// A model that is its reference and knows nothing.
    pub(crate) fn new(start: &[f64]) -> Self {
        Self { parameters: start.to_vec(), workspace: Workspace::default() }
    }

    /// Learns from the outcomes of `rollout` by one step of their cross-entropy, then judges its tokens: the log-ratio of each
    /// to `reference`, `[tokens]`, in nats. `factor` is that of the policy's gradient over the same tokens.
    pub(crate) fn log_ratios(
        &mut self,
        questions: &Questions,
        rollout: &Rollout,
        group_size: usize,
        reference: &[f64],
        (beta, factor): (f64, f64),
    ) -> Vec<f64> {
        let before = self.measure(questions, rollout, group_size, reference);
        let outcomes: Vec<bool> = rollout.rewards.iter().map(|reward| *reward > 0.5).collect();
        let lengths = vec![questions.shape().positions; outcomes.len()];
        let loss = outcome_cross_entropy(&before, &outcomes, &lengths, beta, outcomes.len())
            .expect("log-ratios of finite policies, one for each token");
        let workspace = &mut self.workspace;
        workspace.chain(questions.shape(), group_size, &loss.grad_log_prob, &rollout.actions);
        workspace.descend(questions, &mut self.parameters, &rollout.prompts, RATE * factor);
        self.measure(questions, rollout, group_size, reference)
    }

    /// Log-ratio of each token as the model stands.
    fn measure(
        &mut self,
        questions: &Questions,
        rollout: &Rollout,
        group_size: usize,
        reference: &[f64],
    ) -> Vec<f64> {
        let (shape, prompts) = (questions.shape(), &rollout.prompts);
        self.workspace.fill(questions, &self.parameters, prompts);
        let mut log_ratio = self.workspace.log_probs(shape, group_size, &rollout.actions);
        let tokens = group_size * shape.positions;
        let of_prompts =
            log_ratio.chunks_exact_mut(tokens).zip(rollout.actions.chunks_exact(tokens));
        for ((log_ratio, actions), prompt) in of_prompts.zip(prompts) {
            let reference = &reference[prompt * shape.row()..];
            for (index, (value, action)) in std::iter::zip(log_ratio, actions).enumerate() {
                *value -= reference[index % shape.positions * shape.actions + *action as usize];
            }
        }
        log_ratio
    }
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
            rewards: vec![1.0, 0.0],
            ..Rollout::default()
        };
        let half = 0.5f64.ln();
        let mut model = RewardModel::new(&[0.0, 0.0]);
        let log_ratio = model.log_ratios(&questions, &rollout, 2, &[half, half], (1.0, 1.0));
        let logistic = |x: f64| -(-x).exp().ln_1p();
        for (computed, logit) in std::iter::zip(log_ratio, [1.0, -1.0]) {
            assert!((computed - (logistic(logit) - half)).abs() < 1e-12, "{computed}");
        }
    }
}
