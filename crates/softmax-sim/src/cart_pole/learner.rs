//! Actor and critic, and one step of their optimisers.

use super::State;
use super::stream::{Purpose, stream};
use crate::perceptron::{Adam, Perceptron, rows};
use entropy_core::{Categorical, LogitsError};
use ndarray::Array2;
use rand::Rng;
use rl_losses::{
    Aggregation, BatchError, Column, LossSums, PlanError, PolicyLoss, StepPlan, TokenBatch,
    TokenColumns, entropy_bonus,
};
use thiserror::Error;

/// Units of each of the two hidden layers.
const HIDDEN: usize = 64;
/// Gradients longer than this are shortened to it.
const GRADIENT_LIMIT: f64 = 0.5;

/// The networks no longer put out numbers.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Diverged {
    /// The policy has no logits to choose by.
    #[error("the policy diverged: {0}")]
    Policy(#[from] LogitsError),
    /// A log-probability or advantage is not finite.
    #[error("the losses diverged: {0}")]
    Loss(#[from] BatchError),
    /// The loss needs what an episode does not have.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The critic's values are not finite.
    #[error("the critic diverged: {0}")]
    Value(#[from] rl_losses::AdvantageError),
}

/// Networks for policy and value, apart from each other: two hidden layers of 64 `tanh` each.
#[derive(Debug, Clone, PartialEq)]
pub struct Learner {
    policy: Perceptron,
    value: Perceptron,
    policy_optimiser: Adam,
    value_optimiser: Adam,
}

/// Steps of a rollout that one optimiser step learns from; all columns `[steps]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct MiniBatch {
    /// Observations, in the order of [`State::observation`].
    pub(super) observations: Vec<[f64; 4]>,
    /// Actions taken: 0 or 1.
    pub(super) actions: Vec<usize>,
    /// Log-probability of each action when it was taken, in nats.
    pub(super) old_log_prob: Vec<f64>,
    /// Advantage of each action.
    pub(super) advantage: Vec<f64>,
    /// Targets of the critic.
    pub(super) returns: Vec<f64>,
}

impl MiniBatch {
    /// Returns the columns of a loss, with the log-probabilities of the policy now.
    fn columns<'a>(&'a self, log_prob: &'a [f64]) -> TokenColumns<'a> {
        TokenColumns { log_prob, old_log_prob: &self.old_log_prob, advantage: &self.advantage }
    }
}

/// Objective that the policy minimises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Objective {
    /// Loss of the actions.
    pub(super) policy_loss: PolicyLoss,
    /// Coefficient of the entropy bonus, reward per nat.
    pub(super) entropy_coefficient: f64,
}

impl Learner {
    /// Networks before any training.
    pub fn new(seed: u64) -> Self {
        let mut rng = stream(seed, Purpose::Parameters, 0);
        let mut network = |outputs, last_gain| {
            Perceptron::orthogonal(&[4, HIDDEN, HIDDEN, outputs], last_gain, &mut rng)
        };
        let (policy, value) = (network(2, 0.01), network(1, 1.0));
        let at_rest = |network: &Perceptron| Adam::new(network.parameters.len());
        let (policy_optimiser, value_optimiser) = (at_rest(&policy), at_rest(&value));
        Self { policy, value, policy_optimiser, value_optimiser }
    }

    /// The distribution over the two actions in each state, `[states]`.
    pub(super) fn policies(
        &self,
        states: impl IntoIterator<Item = State>,
    ) -> Result<Vec<Categorical>, Diverged> {
        let observations: Vec<_> = states.into_iter().map(State::observation).collect();
        distributions(&self.policy.forward(rows(&observations)).output)
    }

    /// The critic's estimate of the return from each observation on, `[observations]`.
    pub(super) fn values(&self, observations: &[[f64; 4]]) -> Vec<f64> {
        self.value.forward(rows(observations)).output.iter().copied().collect()
    }

    /// One optimiser step of both networks on a mini-batch: the policy down the gradient of
    /// [`Objective`], the critic down that of half the mean squared error.
    pub(super) fn update(
        &mut self,
        batch: &MiniBatch,
        objective: &Objective,
        learning_rate: f64,
        rng: &mut impl Rng,
    ) -> Result<LossSums, Diverged> {
        let observations = rows(&batch.observations);
        let (mut gradient, sums, _) =
            policy_gradient(&self.policy, observations.clone(), batch, objective, rng)?;
        let trace = self.value.forward(observations);
        let mut d_value = trace.output.clone();
        for (value, target) in d_value.iter_mut().zip(&batch.returns) {
            *value = (*value - target) / batch.returns.len() as f64;
        }
        let mut value_gradient = self.value.backward(&trace, d_value);
        shorten(&mut gradient);
        shorten(&mut value_gradient);
        self.policy_optimiser.step(learning_rate, &gradient, &mut self.policy.parameters);
        self.value_optimiser.step(learning_rate, &value_gradient, &mut self.value.parameters);
        Ok(sums)
    }
}

/// The gradient of the objective with respect to all parameters, sums of the loss, and its plan.
fn policy_gradient(
    policy: &Perceptron,
    observations: Array2<f64>,
    batch: &MiniBatch,
    objective: &Objective,
    rng: &mut impl Rng,
) -> Result<(Vec<f64>, LossSums, StepPlan), Diverged> {
    let trace = policy.forward(observations);
    let policies = distributions(&trace.output)?;
    let taken = std::iter::zip(&policies, &batch.actions);
    let log_prob: Vec<f64> = taken.clone().map(|(p, &action)| p.log_probs()[action]).collect();
    let entropy: Vec<f64> = policies.iter().map(Categorical::entropy).collect();
    let lengths = [log_prob.len()];
    let tokens =
        TokenBatch::new(batch.columns(&log_prob), &lengths)?.with(Column::Entropy, &entropy)?;
    let plan = objective.policy_loss.plan(&tokens, &Aggregation::TokenMean, rng)?;
    let loss = objective.policy_loss.evaluate(&tokens, plan.part(0..tokens.len()));
    let (_, d_entropy) = entropy_bonus(objective.entropy_coefficient, &entropy, &plan.weights());
    let mut d_logits = Array2::zeros(trace.output.dim());
    let slopes = std::iter::zip(&loss.grad_log_prob, &d_entropy);
    for (mut row, ((policy, &action), (d_log_prob, d_entropy))) in
        d_logits.rows_mut().into_iter().zip(taken.zip(slopes))
    {
        let row = row.as_slice_mut().expect("rows of a standard array are contiguous");
        policy.vjp_log_prob(action, *d_log_prob, row);
        policy.vjp_entropy(*d_entropy, row);
    }
    Ok((policy.backward(&trace, d_logits), loss.sums, plan))
}

/// One distribution per row of logits, `[rows, actions]`.
fn distributions(logits: &Array2<f64>) -> Result<Vec<Categorical>, Diverged> {
    let row = |row: ndarray::ArrayView1<'_, f64>| {
        let logits = row.to_slice().expect("rows of a standard array are contiguous");
        Categorical::from_logits(logits).map_err(Diverged::from)
    };
    logits.rows().into_iter().map(row).collect()
}

/// Scales a gradient longer than [`GRADIENT_LIMIT`] down to it.
fn shorten(gradient: &mut [f64]) {
    let length = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > GRADIENT_LIMIT {
        for slope in gradient {
            *slope *= GRADIENT_LIMIT / length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rl_losses::{ClipCov, ClipRange, CovarianceBand, DualClip, KlCov, PpoClip};

    fn mini_batch(learner: &Learner) -> MiniBatch {
        let mut rng = stream(3, Purpose::Order, 0);
        let mut batch = MiniBatch::default();
        for _ in 0..24 {
            let observation = [0; 4].map(|_| rng.random_range(-1.0..1.0));
            let policy = &learner.policies([State::from(observation)]).unwrap()[0];
            let action = rng.random_range(0..2);
            // Ratios on both sides of 1, and off every kink of the losses.
            let shift: f64 = rng.random_range(-0.35..0.35);
            batch.observations.push(observation);
            batch.actions.push(action);
            batch.old_log_prob.push(policy.log_probs()[action] + shift);
            batch.advantage.push(rng.random_range(-2.0..2.0));
            batch.returns.push(rng.random_range(0.0..20.0));
        }
        batch
    }

    fn value(
        policy: &Perceptron,
        batch: &MiniBatch,
        objective: &Objective,
        plan: &StepPlan,
    ) -> f64 {
        let policies =
            distributions(&policy.forward(rows(&batch.observations)).output).expect("finite");
        let taken = std::iter::zip(&policies, &batch.actions);
        let log_prob: Vec<f64> =
            taken.map(|(policy, &action)| policy.log_probs()[action]).collect();
        let entropy: Vec<f64> = policies.iter().map(Categorical::entropy).collect();
        let lengths = [log_prob.len()];
        let tokens = TokenBatch::new(batch.columns(&log_prob), &lengths).expect("one length");
        let loss = objective.policy_loss.evaluate(&tokens, plan.part(0..tokens.len())).value;
        loss + entropy_bonus(objective.entropy_coefficient, &entropy, &plan.weights()).0
    }

    #[test]
    fn the_gradient_of_every_loss_is_the_central_difference() {
        let mut learner = Learner::new(2);
        // Away from the uniform policy, where all log-probabilities are equal.
        for parameter in learner.policy.parameters.iter_mut().rev().take(130) {
            *parameter *= 80.0;
        }
        let batch = mini_batch(&learner);
        let band = CovarianceBand::new(-0.2, 5.0).unwrap();
        let clip = ClipRange::new(0.2, 0.2).unwrap();
        for policy_loss in [
            PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF)),
            PolicyLoss::ClipCov(ClipCov::new(0.2, band, clip).unwrap()),
            PolicyLoss::KlCov(KlCov::new(0.3, 0.7).unwrap()),
        ] {
            let objective = Objective { policy_loss, entropy_coefficient: 0.05 };
            let observations = rows(&batch.observations);
            let mut rng = stream(1, Purpose::Selection, 0);
            let (gradient, sums, plan) =
                policy_gradient(&learner.policy, observations, &batch, &objective, &mut rng)
                    .unwrap();
            assert!(matches!(policy_loss, PolicyLoss::PpoClip(_)) || sums.selected > 0);
            for index in (0..learner.policy.parameters.len()).step_by(13) {
                let mut moved = learner.policy.clone();
                let width = 1e-6;
                moved.parameters[index] += width;
                let above = value(&moved, &batch, &objective, &plan);
                moved.parameters[index] -= 2.0 * width;
                let difference = (above - value(&moved, &batch, &objective, &plan)) / (2.0 * width);
                let slope = gradient[index];
                assert!((difference - slope).abs() < 1e-8, "{index}: {difference} {slope}");
            }
        }
    }

    #[test]
    fn the_critic_learns_what_it_is_told() {
        let mut learner = Learner::new(0);
        let batch = mini_batch(&learner);
        let objective = Objective {
            policy_loss: PolicyLoss::PpoClip(PpoClip::default()),
            entropy_coefficient: 0.0,
        };
        let error = |learner: &Learner| -> f64 {
            let values = learner.values(&batch.observations);
            std::iter::zip(values, &batch.returns).map(|(v, r)| (v - r).powi(2)).sum()
        };
        let before = error(&learner);
        for step in 0..400 {
            let mut rng = stream(0, Purpose::Selection, step);
            learner.update(&batch, &objective, 3e-3, &mut rng).unwrap();
        }
        assert!(error(&learner) < 1e-3 * before, "{} of {before}", error(&learner));
    }

    #[test]
    fn parameters_that_are_no_numbers_are_told() {
        let mut learner = Learner::new(0);
        learner.policy.parameters.fill(f64::NAN);
        let error = learner.policies([State::from([0.0; 4])]).unwrap_err();
        assert!(error.to_string().starts_with("the policy diverged: logit 0 is NaN"), "{error}");
    }
}
