//! Small random processes: states that depend on what was chosen, with every trajectory in a list.

use super::vectors::{moved, normals, policy, stream};
use entropy_core::{Categorical, StateGraph};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::iter::zip;

/// Most actions of a state; with so many, the last one is impossible.
const ACTIONS: usize = 4;
/// Share of the actions that end the sequence.
const ENDING: f64 = 0.2;

/// A graph of states, a policy, a reward and a step of the logits for each action of each state.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) graph: StateGraph,
    pub(super) policies: Vec<Categorical>,
    /// `[states][actions]`.
    pub(super) rewards: Vec<Vec<f64>>,
    /// `[states][actions]`.
    pub(super) step: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Trajectory {
    pub(super) prob: f64,
    /// Log-probability of its actions alone.
    pub(super) log_prob: f64,
    /// Slope of `log_prob` along the step.
    pub(super) slope: f64,
    /// Lemma 1 summed over the states passed.
    pub(super) lemma_1: f64,
    pub(super) reward: f64,
}

impl Process {
    /// The process number `index` of a seed, of 2 to `most` states.
    pub(super) fn random(seed: u64, index: u64, most: usize) -> Self {
        let mut rng = stream(seed, 0x7365_7175, index);
        let states = rng.random_range(2..=most);
        let (mut next, mut policies) = (vec![], vec![]);
        let (mut rewards, mut steps) = (vec![], vec![]);
        for state in 0..states {
            let actions = rng.random_range(2..=ACTIONS);
            let mut column = || normals(&mut rng, actions);
            let mut logits = column();
            rewards.push(column());
            steps.push(column());
            if actions == ACTIONS {
                logits[ACTIONS - 1] = f64::NEG_INFINITY;
            }
            policies.push(policy(&logits));
            next.push((0..actions).map(|_| arrivals(&mut rng, state, states)).collect());
        }
        Self::of(next, policies, rewards, steps)
    }

    pub(super) fn of(
        next: Vec<Vec<Vec<(usize, f64)>>>,
        policies: Vec<Categorical>,
        rewards: Vec<Vec<f64>>,
        step: Vec<Vec<f64>>,
    ) -> Self {
        let graph = StateGraph::new(next);
        let graph = graph.expect("arrivals are later, and their probabilities sum to 1 at most");
        Self { graph, policies, rewards, step }
    }

    /// After `width` times `step`, `[states][actions]`.
    pub(super) fn moved(&self, step: &[Vec<f64>], width: f64) -> Self {
        let policies = zip(&self.policies, step).map(|(policy, step)| moved(policy, step, width));
        Self { policies: policies.collect(), ..self.clone() }
    }

    /// `Q(s, a)`: reward of the action and of what follows, `[states][actions]`.
    pub(super) fn action_values(&self) -> Vec<Vec<f64>> {
        let here: Vec<f64> = zip(&self.policies, &self.rewards).map(|(p, r)| p.mean(r)).collect();
        let mut values = self.graph.to_go(&self.policies, &here);
        for (value, reward) in zip(values.iter_mut().flatten(), self.rewards.iter().flatten()) {
            *value += reward;
        }
        values
    }

    pub(super) fn visits(&self) -> Vec<f64> {
        self.graph.visits(|state, action| self.policies[state].probs()[action])
    }

    fn trajectories_from(&self, state: usize) -> Vec<Trajectory> {
        let (policy, step) = (&self.policies[state], &self.step[state]);
        let (mean, lemma_1) = (policy.mean(step), policy.entropy_change_first_order(step));
        let possible = (0..policy.actions()).filter(|action| policy.probs()[*action] > 0.0);
        let mut all = vec![];
        for action in possible {
            let here = Trajectory {
                prob: policy.probs()[action],
                log_prob: policy.log_probs()[action],
                slope: step[action] - mean,
                lemma_1,
                reward: self.rewards[state][action],
            };
            let arrivals = self.graph.arrivals(state, action);
            let ending = 1.0 - arrivals.iter().map(|(_, prob)| prob).sum::<f64>();
            all.push(Trajectory { prob: here.prob * ending, ..here });
            for &(arrival, prob) in arrivals {
                all.extend(self.trajectories_from(arrival).into_iter().map(|rest| Trajectory {
                    prob: here.prob * prob * rest.prob,
                    log_prob: here.log_prob + rest.log_prob,
                    slope: here.slope + rest.slope,
                    lemma_1: here.lemma_1 + rest.lemma_1,
                    reward: here.reward + rest.reward,
                }));
            }
        }
        all
    }

    pub(super) fn expect(&self, f: impl Fn(&Trajectory) -> f64) -> f64 {
        self.trajectories_from(0).iter().map(|trajectory| trajectory.prob * f(trajectory)).sum()
    }
}

/// None, or up to two of the states behind `state`; the sequence may end before either.
fn arrivals(rng: &mut ChaCha8Rng, state: usize, states: usize) -> Vec<(usize, f64)> {
    if state + 1 == states || rng.random_bool(ENDING) {
        return vec![];
    }
    let (first, going_on) = (rng.random_range(state + 1..states), rng.random_range(0.5..1.0));
    let other = rng.random_range(state + 1..states);
    let share: f64 = rng.random();
    vec![(first, going_on * share), (other, going_on * (1.0 - share))]
}
