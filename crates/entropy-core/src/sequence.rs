//! Entropy of whole sequences: the chain rule, and the effect of a step on the states it reaches.

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_length};

/// A policy over sequences, as a tree: the policy of the first token and, per action, what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct SequencePolicy {
    policy: Categorical,
    next: Vec<Option<SequencePolicy>>,
}

/// First-order change of the entropy of a sequence, in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequenceEntropyChange {
    /// Change in total.
    pub total: f64,
    /// Lemma 1 summed over the states as they are visited now: the part that the token-level
    /// statement gives.
    pub within_states: f64,
}

impl SequencePolicy {
    /// A tree from the policy at its root and what follows each action; `None` ends the sequence.
    ///
    /// # Errors
    ///
    /// [`InputError::Length`] if `next` does not hold one entry per action.
    pub fn new(policy: Categorical, next: Vec<Option<Self>>) -> Result<Self, InputError> {
        check_length("next", next.len(), policy.actions())?;
        Ok(Self { policy, next })
    }

    /// The policy of the first token.
    pub fn policy(&self) -> &Categorical {
        &self.policy
    }

    /// Entropy of the whole sequence, `H(Y) = Σ_t E[H(· | y_<t)]`, in nats.
    ///
    /// Derivation: `docs/theory.md#sequence-entropy`.
    pub fn entropy(&self) -> f64 {
        self.policy.entropy() + self.policy.expect(|action| self.entropy_to_go(action))
    }

    /// Expected entropy of what follows `action`, in nats; 0 where the sequence ends.
    ///
    /// # Panics
    ///
    /// If there is no such action.
    pub fn entropy_to_go(&self, action: usize) -> f64 {
        self.next[action].as_ref().map_or(0.0, Self::entropy)
    }

    /// First-order change of the entropy when the logits behind each prefix move by `step(prefix)`,
    /// of shape `[actions]`.
    ///
    /// ```text
    /// dH(Y) = -Σ_t E_s[Cov_{a~π(·|s)}(log π(a|s) - H_to_go(s, a), δ(s, a))]
    /// ```
    ///
    /// Derivation: `docs/theory.md#sequence-entropy`.
    ///
    /// # Panics
    ///
    /// If a step does not hold one value per action of its state.
    pub fn entropy_change_first_order(
        &self,
        step: impl Fn(&[usize]) -> Vec<f64>,
    ) -> SequenceEntropyChange {
        self.change_behind(&mut Vec::new(), &step)
    }

    fn change_behind(
        &self,
        prefix: &mut Vec<usize>,
        step: &impl Fn(&[usize]) -> Vec<f64>,
    ) -> SequenceEntropyChange {
        let local_step = step(prefix);
        let to_go: Vec<f64> = (0..self.next.len()).map(|a| self.entropy_to_go(a)).collect();
        let within = self.policy.entropy_change_first_order(&local_step);
        let mut change = SequenceEntropyChange {
            total: within
                + self.policy.covariance(&to_go, &self.policy.over_support(|a| local_step[a])),
            within_states: within,
        };
        for (action, next) in self.next.iter().enumerate() {
            let Some(next) = next else { continue };
            prefix.push(action);
            let behind = next.change_behind(prefix, step);
            prefix.pop();
            let prob = self.policy.probs()[action];
            change.total += prob * behind.total;
            change.within_states += prob * behind.within_states;
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

    fn last(logits: &[f64]) -> SequencePolicy {
        SequencePolicy::new(policy(logits), vec![None; logits.len()]).unwrap()
    }

    /// A fair first token; one choice leads to a fair coin, the other to certainty.
    #[test]
    fn visits_alone_can_change_the_entropy() {
        let (coin, certain) = (last(&[0.0, 0.0]), last(&[0.0]));
        let tree =
            SequencePolicy::new(policy(&[0.0, 0.0]), vec![Some(coin), Some(certain)]).unwrap();
        assert!((tree.entropy() - 1.5 * 2f64.ln()).abs() < 1e-15);
        let change = tree.entropy_change_first_order(|prefix| match prefix {
            [] => vec![1.0, -1.0],
            [0] => vec![0.0; 2],
            _ => vec![0.0],
        });
        assert!(change.within_states.abs() < 1e-16, "{change:?}");
        assert!((change.total - 0.5 * 2f64.ln()).abs() < 1e-15, "{change:?}");
    }

    /// Logits of a tree of three actions and two levels, in the order root, children.
    fn tree_of(logits: &[[f64; 3]; 4]) -> SequencePolicy {
        let children = logits[1..].iter().map(|row| Some(last(row))).collect();
        SequencePolicy::new(policy(&logits[0]), children).unwrap()
    }

    #[test]
    fn the_change_is_a_central_difference_and_the_entropy_that_of_the_joint() {
        let logits =
            [[0.2, -0.7, 1.1], [1.5, 0.0, -2.0], [0.1, 0.2, 0.3], [-3.0, 1.0, f64::NEG_INFINITY]];
        let steps = [[0.5, 1.0, -0.3], [1.0, 0.0, -1.0], [0.0, 2.0, 0.5], [-0.4, 0.9, 5.0]];
        let tree = tree_of(&logits);
        let joint: f64 = (0..3)
            .flat_map(|first| {
                let tree = &tree;
                (0..3).map(move |second| {
                    let next = tree.next[first].as_ref().unwrap();
                    tree.policy.probs()[first] * next.policy.probs()[second]
                })
            })
            .map(|p| if p > 0.0 { -p * p.ln() } else { 0.0 })
            .sum();
        assert!((tree.entropy() - joint).abs() < 1e-14);

        let change = tree.entropy_change_first_order(|prefix| match prefix {
            [] => steps[0].to_vec(),
            [first, ..] => steps[first + 1].to_vec(),
        });
        let moved = |width: f64| {
            let mut logits = logits;
            for (row, step) in std::iter::zip(&mut logits, &steps) {
                for (logit, step) in std::iter::zip(row, step) {
                    *logit += width * step;
                }
            }
            tree_of(&logits).entropy()
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((change.total - slope).abs() < 1e-9, "{change:?} vs {slope}");

        // With the states visited as before, only the policies in them move.
        let as_visited = |width: f64| -> f64 {
            let state = |index: usize| {
                let moved = std::iter::zip(&logits[index], &steps[index]);
                policy(&moved.map(|(logit, step)| logit + width * step).collect::<Vec<_>>())
            };
            let children =
                (0..3).map(|first| tree.policy.probs()[first] * state(first + 1).entropy());
            state(0).entropy() + children.sum::<f64>()
        };
        let within = (as_visited(1e-5) - as_visited(-1e-5)) / 2e-5;
        assert!((change.within_states - within).abs() < 1e-9, "{change:?} vs {within}");
        assert!((change.total - change.within_states).abs() > 1e-3);
    }

    #[test]
    fn a_tree_that_forgets_an_action_is_refused() {
        let error = SequencePolicy::new(policy(&[0.0, 0.0]), vec![None]).unwrap_err();
        assert_eq!(error.to_string(), "`next` has 1 values; expected 2");
    }
}
