//! Entropy of whole sequences: the chain rule, and the effect of a step on the states it reaches.

use std::ops::AddAssign;

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_parameter};

/// States that a sequence passes through, and where each action leads: at random, to later states alone.
///
/// State 0 is the first. A tree of prefixes is such a graph, with one arrival per action. Methods panic unless there is one
/// policy, and one value or step, per state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateGraph {
    /// Per state and action: the states it may lead to with their probabilities.
    next: Vec<Vec<Vec<(usize, f64)>>>,
    /// False if every state leads to the next one, whatever the action.
    forks: bool,
}

/// First-order change of the entropy of a sequence, in nats.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SequenceEntropyChange {
    /// Lemma 1 summed over the states as they are visited now: the part that the token-level
    /// statement gives.
    pub within_states: f64,
    /// The part of the states that are visited more or less often.
    pub visitation: f64,
}

impl AddAssign for SequenceEntropyChange {
    fn add_assign(&mut self, other: Self) {
        self.within_states += other.within_states;
        self.visitation += other.visitation;
    }
}

impl SequenceEntropyChange {
    /// Both parts.
    pub fn total(self) -> f64 {
        self.within_states + self.visitation
    }
}

impl StateGraph {
    /// A graph from the arrivals behind each state and action: later states and their probabilities. With what lacks to 1
    /// the sequence ends.
    ///
    /// # Errors
    ///
    /// [`InputError`] if an arrival is not later, or probabilities sum to more than 1.
    pub fn new(next: Vec<Vec<Vec<(usize, f64)>>>) -> Result<Self, InputError> {
        let mut forks = false;
        for (state, actions) in next.iter().enumerate() {
            for arrivals in actions {
                for &(arrival, prob) in arrivals {
                    let is_later = state < arrival && arrival < next.len();
                    check_parameter("next", arrival as f64, is_later, "a later state")?;
                    let is_prob = (0.0..=1.0).contains(&prob);
                    check_parameter("next", prob, is_prob, "a probability")?;
                }
                let total: f64 = arrivals.iter().map(|(_, prob)| prob).sum();
                check_parameter("next", total, total < 1.0 + 1e-9, "a sum of at most 1")?;
                let straight: &[(usize, f64)] =
                    if state + 1 < next.len() { &[(state + 1, 1.0)] } else { &[] };
                forks |= arrivals != straight;
            }
        }
        Ok(Self { next, forks })
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.next.len()
    }

    /// States that `action` may lead to from `state`, with their probabilities.
    ///
    /// # Panics
    ///
    /// If there is no such state or action.
    pub fn arrivals(&self, state: usize, action: usize) -> &[(usize, f64)] {
        &self.next[state][action]
    }

    /// Expected number of visits of each state under `prob(state, action)`, `[states]`; exactly 1 where nothing forks.
    pub fn visits(&self, prob: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        if !self.forks {
            return vec![1.0; self.next.len()];
        }
        let mut visits = vec![0.0; self.next.len()];
        visits[0] = 1.0;
        for (state, actions) in self.next.iter().enumerate() {
            for (action, arrivals) in actions.iter().enumerate() {
                let leaving = visits[state] * prob(state, action);
                for &(arrival, arriving) in arrivals {
                    visits[arrival] += leaving * arriving;
                }
            }
        }
        visits
    }

    /// Expected sum of `here`, `[states]`, over the states behind each action, `[states][actions]`.
    ///
    /// With the entropies it is the entropy to go, with expected rewards the value behind an action.
    pub fn to_go(&self, policies: &[Categorical], here: &[f64]) -> Vec<Vec<f64>> {
        let mut behind = vec![vec![]; self.next.len()];
        let mut values = here.to_vec();
        for state in (0..self.next.len()).rev() {
            let mean = |arrivals: &Vec<(usize, f64)>| -> f64 {
                arrivals.iter().map(|&(arrival, prob)| prob * values[arrival]).sum()
            };
            let of_actions: Vec<f64> = self.next[state].iter().map(mean).collect();
            values[state] += policies[state].mean(&of_actions);
            behind[state] = of_actions;
        }
        behind
    }

    /// Entropy of the whole sequence of actions, `Σ_t E[H(s_t)]`, in nats.
    ///
    /// Derivation: `docs/theory.md#sequence-entropy`.
    pub fn entropy(&self, policies: &[Categorical]) -> f64 {
        let visits = self.visits(|state, action| policies[state].probs()[action]);
        visits.iter().zip(policies).map(|(visits, policy)| visits * policy.entropy()).sum()
    }

    /// First-order change of the entropy when the logits of each state move by its `step`, `[states][actions]`.
    ///
    /// ```text
    /// dH(Y) = -Σ_s ρ(s) Cov_{a~π(·|s)}(log π(a|s) - H_to_go(s, a), δ(s, a))
    /// ```
    ///
    /// Derivation: `docs/theory.md#sequence-entropy`.
    pub fn entropy_change_first_order(
        &self,
        policies: &[Categorical],
        step: &[Vec<f64>],
    ) -> SequenceEntropyChange {
        let entropies: Vec<f64> = policies.iter().map(Categorical::entropy).collect();
        let to_go = self.to_go(policies, &entropies);
        let visits = self.visits(|state, action| policies[state].probs()[action]);
        let mut change = SequenceEntropyChange::default();
        for (state, policy) in policies.iter().enumerate() {
            let step = &step[state];
            change.within_states += visits[state] * policy.entropy_change_first_order(step);
            change.visitation += visits[state] * policy.covariance(&to_go[state], step);
        }
        change
    }
}
