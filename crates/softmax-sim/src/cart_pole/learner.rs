//! Actor and critic, and one step of their optimisers.

use super::State;
use super::stream::{Purpose, stream};
use crate::perceptron::{Adam, Layers, Trace};
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

/// A network of two hidden layers of 64 `tanh`, and its optimiser.
#[derive(Debug, Clone, PartialEq)]
struct Network {
    layers: Layers,
    parameters: Vec<f64>,
    optimiser: Adam,
}

impl Network {
    fn new(outputs: usize, last_gain: f64, rng: &mut impl Rng) -> Self {
        let sizes = [4, HIDDEN, HIDDEN, outputs];
        let (layers, parameters) = Layers::orthogonal(&sizes, last_gain, rng);
        Self { optimiser: Adam::new(parameters.len()), layers, parameters }
    }

    fn forward(&self, observations: &[[f64; 4]]) -> Trace {
        self.layers.forward(&self.parameters, observations.to_vec().into())
    }

    fn backward(&self, trace: &Trace, d_output: Array2<f64>) -> Vec<f64> {
        self.layers.backward(&self.parameters, trace, d_output)
    }

    /// One step of the optimiser down a gradient, which is shortened to [`GRADIENT_LIMIT`].
    fn descend(&mut self, learning_rate: f64, mut gradient: Vec<f64>) {
        let length = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > GRADIENT_LIMIT {
            for slope in &mut gradient {
                *slope *= GRADIENT_LIMIT / length;
            }
        }
        self.optimiser.step(learning_rate, &gradient, &mut self.parameters);
    }
}

/// Networks for policy and value, apart from each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Learner {
    policy: Network,
    value: Network,
}

/// A step of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Step {
    /// In the order of [`State::observation`].
    pub(super) observation: [f64; 4],
    pub(super) action: usize,
    /// Log-probability of the action when it was taken, in nats.
    pub(super) old_log_prob: f64,
    pub(super) advantage: f64,
    /// Target of the critic.
    pub(super) target: f64,
}

/// Values of `steps`, `[steps]`.
pub(super) fn column<T>(steps: &[Step], value: fn(&Step) -> T) -> Vec<T> {
    steps.iter().map(value).collect()
}

impl Learner {
    /// Networks before any training.
    pub fn new(seed: u64) -> Self {
        let mut rng = stream(seed, Purpose::Parameters, 0);
        let mut network = |outputs, last_gain| Network::new(outputs, last_gain, &mut rng);
        Self { policy: network(2, 0.01), value: network(1, 1.0) }
    }

    /// The distribution over the two actions in each state, `[states]`.
    pub(super) fn policies(
        &self,
        states: impl IntoIterator<Item = State>,
    ) -> Result<Vec<Categorical>, Diverged> {
        let observations: Vec<_> = states.into_iter().map(State::observation).collect();
        distributions(&self.policy.forward(&observations).output)
    }

    /// The critic's estimate of the return from each observation on, `[observations]`.
    pub(super) fn values(&self, observations: &[[f64; 4]]) -> Vec<f64> {
        self.value.forward(observations).output.iter().copied().collect()
    }

    /// One optimiser step of both networks on a mini-batch: the policy down the gradient of `objective`, a loss and the
    /// coefficient of the entropy bonus, reward per nat; the critic down that of half the mean squared error.
    pub(super) fn update(
        &mut self,
        steps: &[Step],
        objective: (&PolicyLoss, f64),
        learning_rate: f64,
        rng: &mut impl Rng,
    ) -> Result<LossSums, Diverged> {
        let (gradient, sums, _) = policy_gradient(&self.policy, steps, objective, rng)?;
        self.policy.descend(learning_rate, gradient);
        let trace = self.value.forward(&column(steps, |step| step.observation));
        let mut d_value = trace.output.clone();
        for (value, step) in d_value.iter_mut().zip(steps) {
            *value = (*value - step.target) / steps.len() as f64;
        }
        let gradient = self.value.backward(&trace, d_value);
        self.value.descend(learning_rate, gradient);
        Ok(sums)
    }
}

/// The gradient of the objective with respect to all parameters, sums of the loss, and its plan.
fn policy_gradient(
    policy: &Network,
    steps: &[Step],
    (policy_loss, coefficient): (&PolicyLoss, f64),
    rng: &mut impl Rng,
) -> Result<(Vec<f64>, LossSums, StepPlan), Diverged> {
    let trace = policy.forward(&column(steps, |step| step.observation));
    let policies = distributions(&trace.output)?;
    let taken = std::iter::zip(&policies, steps);
    let log_prob: Vec<f64> = taken.clone().map(|(p, step)| p.log_probs()[step.action]).collect();
    let entropy: Vec<f64> = policies.iter().map(Categorical::entropy).collect();
    let old_log_prob = column(steps, |step| step.old_log_prob);
    let advantage = column(steps, |step| step.advantage);
    let columns =
        TokenColumns { log_prob: &log_prob, old_log_prob: &old_log_prob, advantage: &advantage };
    let lengths = [steps.len()];
    let tokens = TokenBatch::new(columns, &lengths)?.with(Column::Entropy, &entropy)?;
    let plan = policy_loss.plan(&tokens, &Aggregation::TokenMean, rng)?;
    let loss = policy_loss.evaluate(&tokens, plan.part(0..tokens.len()));
    let (_, d_entropy) = entropy_bonus(coefficient, &entropy, &plan.weights());
    let mut d_logits = Array2::zeros(trace.output.dim());
    let slopes = std::iter::zip(&loss.grad_log_prob, &d_entropy);
    for (mut row, ((policy, step), (d_log_prob, d_entropy))) in
        d_logits.rows_mut().into_iter().zip(taken.zip(slopes))
    {
        let row = row.as_slice_mut().expect("rows of a standard array are contiguous");
        policy.vjp_log_prob(step.action, *d_log_prob, row);
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

#[cfg(test)]
mod tests {
    use super::*;
    use rl_losses::{ClipCov, ClipRange, CovarianceBand, DualClip, KlCov, PpoClip};

    fn mini_batch(learner: &Learner) -> Vec<Step> {
        let mut rng = stream(3, Purpose::Order, 0);
        let step = |_| {
            let observation = [0; 4].map(|_| rng.random_range(-1.0..1.0));
            let policy = &learner.policies([State::from(observation)]).unwrap()[0];
            let action = rng.random_range(0..2);
            // Ratios on both sides of 1, and off every kink of the losses.
            let old_log_prob = policy.log_probs()[action] + rng.random_range(-0.35..0.35);
            let (advantage, target) = (rng.random_range(-2.0..2.0), rng.random_range(0.0..20.0));
            Step { observation, action, old_log_prob, advantage, target }
        };
        (0..24).map(step).collect()
    }

    fn value(
        policy: &Network,
        steps: &[Step],
        objective: (&PolicyLoss, f64),
        plan: &StepPlan,
    ) -> f64 {
        let output = policy.forward(&column(steps, |step| step.observation)).output;
        let policies = distributions(&output).expect("finite");
        let taken = std::iter::zip(&policies, steps);
        let log_prob: Vec<f64> = taken.map(|(p, step)| p.log_probs()[step.action]).collect();
        let entropy: Vec<f64> = policies.iter().map(Categorical::entropy).collect();
        let old_log_prob = &column(steps, |step| step.old_log_prob)[..];
        let advantage = &column(steps, |step| step.advantage)[..];
        let columns = TokenColumns { log_prob: &log_prob, old_log_prob, advantage };
        let lengths = [steps.len()];
        let tokens = TokenBatch::new(columns, &lengths).expect("one length");
        let loss = objective.0.evaluate(&tokens, plan.part(0..tokens.len())).value;
        loss + entropy_bonus(objective.1, &entropy, &plan.weights()).0
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
            let objective = (&policy_loss, 0.05);
            let mut rng = stream(1, Purpose::Selection, 0);
            let (gradient, sums, plan) =
                policy_gradient(&learner.policy, &batch, objective, &mut rng).unwrap();
            assert!(matches!(policy_loss, PolicyLoss::PpoClip(_)) || sums.selected > 0);
            for index in (0..learner.policy.parameters.len()).step_by(13) {
                let mut moved = learner.policy.clone();
                let width = 1e-6;
                moved.parameters[index] += width;
                let above = value(&moved, &batch, objective, &plan);
                moved.parameters[index] -= 2.0 * width;
                let difference = (above - value(&moved, &batch, objective, &plan)) / (2.0 * width);
                let slope = gradient[index];
                assert!((difference - slope).abs() < 1e-8, "{index}: {difference} {slope}");
            }
        }
    }

    #[test]
    fn the_critic_learns_what_it_is_told() {
        let mut learner = Learner::new(0);
        let batch = mini_batch(&learner);
        let objective = (&PolicyLoss::PpoClip(PpoClip::default()), 0.0);
        let error = |learner: &Learner| -> f64 {
            let values = learner.values(&column(&batch, |step| step.observation));
            std::iter::zip(values, &batch).map(|(value, step)| (value - step.target).powi(2)).sum()
        };
        let before = error(&learner);
        for step in 0..400 {
            let mut rng = stream(0, Purpose::Selection, step);
            learner.update(&batch, objective, 3e-3, &mut rng).unwrap();
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
