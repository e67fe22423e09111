//! Entropy of whole sequences: the chain rule, and the effect of a step on the states it reaches.

use std::ops::AddAssign;

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_parameter};

/// States that a sequence passes through, and where each action leads: at random, to later states alone.
///
/// State 0 is the first. A tree of prefixes is such a graph, with one arrival per action.
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
    /// [`InputError::Parameter`] if an arrival is not later, or probabilities sum to more than 1.
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
    ///
    /// # Panics
    ///
    /// If there is not one policy and value per state.
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
    ///
    /// # Panics
    ///
    /// If there is not one policy per state.
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
    ///
    /// # Panics
    ///
    /// If there is not one policy and step per state.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(logits: &[f64]) -> Categorical {
        Categorical::from_logits(logits).unwrap()
    }

    /// A first token of three actions, the last of which leads to either of the second states; these are the last.
    fn graph() -> StateGraph {
        let first = vec![vec![(1, 1.0)], vec![(2, 1.0)], vec![(1, 0.25), (2, 0.75)]];
        StateGraph::new(vec![first, vec![vec![]; 3], vec![vec![]; 3]]).unwrap()
    }

    const LOGITS: [[f64; 3]; 3] =
        [[0.2, -0.7, 1.1], [1.5, 0.0, -2.0], [-3.0, 1.0, f64::NEG_INFINITY]];
    const STEP: [[f64; 3]; 3] = [[0.5, 1.0, -0.3], [1.0, 0.0, -1.0], [-0.4, 0.9, 5.0]];

    fn policies(width: f64) -> Vec<Categorical> {
        let moved = |(logits, step): (&[f64; 3], &[f64; 3])| {
            policy(&std::array::from_fn::<f64, 3, _>(|a| logits[a] + width * step[a]))
        };
        LOGITS.iter().zip(&STEP).map(moved).collect()
    }

    #[test]
    fn the_parts_of_a_change_are_central_differences() {
        let graph = graph();
        let now = policies(0.0);
        let prob = |state: usize, action: usize| now[state].probs()[action];
        let second = [prob(0, 0) + 0.25 * prob(0, 2), prob(0, 1) + 0.75 * prob(0, 2)];
        let by_hand = |now: &[Categorical], visits: [f64; 2]| {
            now[0].entropy() + visits[0] * now[1].entropy() + visits[1] * now[2].entropy()
        };
        assert!((graph.entropy(&now) - by_hand(&now, second)).abs() < 1e-15);

        let step = STEP.map(|row| row.to_vec());
        let change = graph.entropy_change_first_order(&now, &step);
        let slope = |f: &dyn Fn(f64) -> f64| (f(1e-5) - f(-1e-5)) / 2e-5;
        let total = slope(&|width| graph.entropy(&policies(width)));
        assert!((change.total() - total).abs() < 1e-9, "{change:?} for {total}");
        // With the states visited as before, only the policies in them move.
        let within = slope(&|width| by_hand(&policies(width), second));
        assert!((change.within_states - within).abs() < 1e-9, "{change:?} for {within}");
        assert!(change.visitation.abs() > 1e-3, "{change:?}");
        // An impossible action has no step: its logit was and is -∞.
        let mut undefined = step;
        undefined[2][2] = f64::NAN;
        assert_eq!(graph.entropy_change_first_order(&now, &undefined), change);
    }

    /// The first action ends the sequence or goes on to a coin, whose sides lead to a coin or to certainty; each part by hand.
    #[test]
    fn states_that_are_seldom_reached_move_little() {
        let ends = || vec![vec![]; 2];
        let next = vec![
            vec![vec![], vec![(1, 1.0)]],
            vec![vec![(2, 1.0)], vec![(3, 1.0)]],
            ends(),
            ends(),
        ];
        let graph = StateGraph::new(next).unwrap();
        let policies: Vec<Categorical> = [[3f64.ln(), 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, -700.0]]
            .iter()
            .map(|logits| policy(logits))
            .collect();
        // A quarter of the sequences come to the first coin, which leans to the second one: Cov((ln 2, 0), (1, 0)) = ¼ ln 2.
        let mut step = vec![vec![0.0; 2]; 4];
        step[1] = vec![1.0, 0.0];
        let change = graph.entropy_change_first_order(&policies, &step);
        assert!((change.visitation - 0.25 * 0.25 * 2f64.ln()).abs() < 1e-15, "{change:?}");
        assert!(change.within_states.abs() < 1e-15, "{change:?}");
    }

    #[test]
    fn visits_where_nothing_forks_are_exactly_one() {
        let straight = StateGraph::new(vec![vec![vec![(1, 1.0)]; 3], vec![vec![]; 3]]).unwrap();
        assert_eq!(straight.visits(|_, _| 1.0 / 3.0), [1.0, 1.0]);
        let visits = graph().visits(|_, action| [0.5, 0.25, 0.25][action]);
        assert_eq!(visits, [1.0, 0.5625, 0.4375]);
        // One arrival an action, as straight on, but half of the sequences end, or all leave a state out.
        let visits = |next: Vec<Vec<(usize, f64)>>| {
            let next = next.into_iter().map(|arrivals| vec![arrivals; 2]).collect();
            StateGraph::new(next).unwrap().visits(|_, _| 0.5)
        };
        assert_eq!(visits(vec![vec![(1, 0.5)], vec![]]), [1.0, 0.5]);
        assert_eq!(visits(vec![vec![(2, 1.0)], vec![(2, 1.0)], vec![]]), [1.0, 0.0, 1.0]);
    }

    #[test]
    fn a_graph_that_goes_back_or_adds_up_to_more_is_refused() {
        let message = |arrivals: Vec<(usize, f64)>| {
            StateGraph::new(vec![vec![arrivals], vec![vec![]]]).unwrap_err().to_string()
        };
        assert_eq!(message(vec![(0, 1.0)]), "`next` is 0; expected a later state");
        assert_eq!(message(vec![(2, 1.0)]), "`next` is 2; expected a later state");
        assert_eq!(message(vec![(1, 1.5)]), "`next` is 1.5; expected a probability");
        assert_eq!(
            message(vec![(1, 0.5), (1, 0.75)]),
            "`next` is 1.25; expected a sum of at most 1"
        );
    }
}
