//! A small random Markov decision process under a tabular softmax policy, solved exactly.

use entropy_core::Categorical;
use ndarray::{Array1, Array2, Array3, Axis};
use ndarray_rand::rand_distr::{Distribution, Exp1, StandardNormal};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Number of states.
pub const STATES: usize = 5;
const ACTIONS: usize = 4;
const DISCOUNT: f64 = 0.5;
/// Iterations of a contraction by [`DISCOUNT`] until nothing of the start is left: `0.5^64 < 1e-19`.
const ITERATIONS: usize = 64;

/// A discounted decision process and a policy on it.
#[derive(Debug, Clone)]
pub struct DecisionProcess {
    /// `[states, actions]`.
    logits: Array2<f64>,
    /// Expected reward, `[states, actions]`.
    reward: Array2<f64>,
    /// Probability of the next state, `[states, actions, next states]`.
    transition: Array3<f64>,
    /// Probability of the first state, `[states]`.
    start: Array1<f64>,
}

impl DecisionProcess {
    /// Draws the process number `index` of a seed.
    pub fn random(seed: u64, index: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::MAX - index);
        let mut normal = |scale: f64| {
            Array2::from_shape_simple_fn((STATES, ACTIONS), || {
                let value: f64 = StandardNormal.sample(&mut rng);
                scale * value
            })
        };
        let (logits, reward) = (normal(1.5), normal(1.0));
        let mut positive = || -> f64 { Exp1.sample(&mut rng) };
        let mut transition = Array3::from_shape_simple_fn((STATES, ACTIONS, STATES), &mut positive);
        for mut next in transition.lanes_mut(Axis(2)) {
            let total = next.sum();
            next /= total;
        }
        let mut start = Array1::from_shape_simple_fn(STATES, &mut positive);
        start /= start.sum();
        Self { logits, reward, transition, start }
    }

    /// The policy in one state.
    ///
    /// # Panics
    ///
    /// If there is no such state.
    pub fn policy(&self, state: usize) -> Categorical {
        Categorical::from_logits(&self.logits.row(state).to_vec()).expect("the logits are finite")
    }

    /// Adds `shift` to one logit.
    ///
    /// # Panics
    ///
    /// If there is no such state or action.
    #[must_use]
    pub fn with_shifted_logit(&self, state: usize, action: usize, shift: f64) -> Self {
        let mut shifted = self.clone();
        shifted.logits[[state, action]] += shift;
        shifted
    }

    /// Expected discounted return from the start distribution, in reward.
    pub fn expected_return(&self) -> f64 {
        self.start.dot(&self.values(&self.policies()))
    }

    /// Advantage `Q(s, a) - V(s)` of each action, in reward; `[states, actions]`.
    pub fn advantage(&self) -> Array2<f64> {
        let values = self.values(&self.policies());
        self.action_values(&values) - values.insert_axis(Axis(1))
    }

    /// Expected discounted number of visits of each state, `[states]`.
    pub fn visits(&self) -> Array1<f64> {
        let policies = self.policies();
        let mut visits = self.start.clone();
        for _ in 0..ITERATIONS {
            let mut next = self.start.clone();
            for ((state, action), prob) in policies.indexed_iter() {
                let arrivals = self.transition.slice(ndarray::s![state, action, ..]);
                next.scaled_add(DISCOUNT * visits[state] * prob, &arrivals);
            }
            visits = next;
        }
        visits
    }

    /// Probabilities of the policy, `[states, actions]`.
    fn policies(&self) -> Array2<f64> {
        let rows: Vec<f64> =
            (0..STATES).flat_map(|state| self.policy(state).probs().to_vec()).collect();
        Array2::from_shape_vec((STATES, ACTIONS), rows).expect("each state has all actions")
    }

    fn values(&self, policies: &Array2<f64>) -> Array1<f64> {
        let mut values = Array1::zeros(STATES);
        for _ in 0..ITERATIONS {
            values = (policies * &self.action_values(&values)).sum_axis(Axis(1));
        }
        values
    }

    fn action_values(&self, values: &Array1<f64>) -> Array2<f64> {
        let mut action_values = self.reward.clone();
        for ((state, action), value) in action_values.indexed_iter_mut() {
            *value += DISCOUNT * self.transition.slice(ndarray::s![state, action, ..]).dot(values);
        }
        action_values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advantages_are_centred_under_the_policy() {
        let process = DecisionProcess::random(0, 0);
        for (state, advantage) in process.advantage().rows().into_iter().enumerate() {
            assert!(process.policy(state).mean(&advantage.to_vec()).abs() < 1e-14);
        }
    }

    #[test]
    fn visits_sum_to_the_horizon() {
        let visits = DecisionProcess::random(0, 1).visits();
        assert!((visits.sum() - 1.0 / (1.0 - DISCOUNT)).abs() < 1e-14, "{visits}");
    }

    /// The return is also the reward summed over visits.
    #[test]
    fn return_agrees_with_visits_times_reward() {
        let process = DecisionProcess::random(0, 2);
        let (policies, visits) = (process.policies(), process.visits());
        let rewards = (&policies * &process.reward).sum_axis(Axis(1));
        assert!((visits.dot(&rewards) - process.expected_return()).abs() < 1e-14);
    }
}
