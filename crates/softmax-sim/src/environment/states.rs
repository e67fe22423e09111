//! States that remember what was chosen before.

use super::EnvironmentError;
use entropy_core::StateGraph;

/// States of a response of `positions` tokens that remember the outcomes of its last `memory` tokens.
///
/// The outcome of a token is its action, or with probability `noise` one of all `actions`, each as likely. With a memory of
/// all tokens and no noise the states are the prefixes. Position by position, the states are numbered by the outcomes
/// remembered, the last one changing fastest.
///
/// # Panics
///
/// If `noise` is not in `0..=1`.
pub fn remembering(positions: usize, actions: usize, memory: usize, noise: f64) -> StateGraph {
    let size = |position: usize| states_of(position, actions, memory);
    let mut next = Vec::new();
    let mut first = 0;
    for position in 0..positions {
        let behind = first + size(position);
        let of_state = |state: usize| -> Vec<Vec<(usize, f64)>> {
            let of_action = |action: usize| {
                let arrival =
                    |outcome: usize| behind + (state * actions + outcome) % size(position + 1);
                if position + 1 == positions {
                    return vec![];
                }
                if memory == 0 || noise == 0.0 {
                    return vec![(arrival(action), 1.0)];
                }
                let prob = |outcome: usize| {
                    let kept = if outcome == action { 1.0 - noise } else { 0.0 };
                    kept + noise / actions as f64
                };
                (0..actions).map(|outcome| (arrival(outcome), prob(outcome))).collect()
            };
            (0..actions).map(of_action).collect()
        };
        next.extend((0..size(position)).map(of_state));
        first = behind;
    }
    StateGraph::new(next).expect("states of the next position, and shares of one")
}

/// States at a position: one for each sequence of outcomes remembered.
fn states_of(position: usize, actions: usize, memory: usize) -> usize {
    let remembered = u32::try_from(position.min(memory)).unwrap_or(u32::MAX);
    actions.saturating_pow(remembered)
}

/// Number of states that [`remembering`] has.
pub(crate) fn count(positions: usize, actions: usize, memory: usize) -> usize {
    (0..positions)
        .fold(0usize, |total, position| total.saturating_add(states_of(position, actions, memory)))
}

/// Tokens of every way through `graph`; an error if ways differ in length, or never come to a state.
pub(super) fn length(graph: &StateGraph, actions: usize) -> Result<usize, EnvironmentError> {
    let check_even = |state: usize, holds: bool| {
        EnvironmentError::check(holds, || {
            format!(
                "state {state} is not of one position: expected ways of one length through all states"
            )
        })
    };
    let mut positions: Vec<Option<usize>> = vec![None; graph.states()];
    positions[0] = Some(0);
    let mut length = None;
    for state in 0..graph.states() {
        check_even(state, positions[state].is_some())?;
        let behind = positions[state].map(|position| position + 1);
        for action in 0..actions {
            let arrivals = graph.arrivals(state, action);
            let going_on: f64 = arrivals.iter().map(|(_, prob)| prob).sum();
            if arrivals.is_empty() {
                check_even(state, length.is_none() || length == behind)?;
                length = behind;
            } else {
                check_even(state, (going_on - 1.0).abs() <= 1e-9)?;
            }
            for &(arrival, _) in arrivals {
                check_even(arrival, positions[arrival].is_none() || positions[arrival] == behind)?;
                positions[arrival] = behind;
            }
        }
    }
    Ok(length.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_full_memory_the_states_are_the_prefixes() {
        let graph = remembering(3, 2, 2, 0.0);
        assert_eq!((graph.states(), count(3, 2, 2)), (7, 7));
        // The states behind 0 and 1 are 1 and 2; behind 01 is the second of the last four.
        assert_eq!(graph.arrivals(0, 1), [(2, 1.0)]);
        assert_eq!(graph.arrivals(1, 1), [(4, 1.0)]);
        assert_eq!(graph.arrivals(2, 0), [(5, 1.0)]);
        assert!(graph.arrivals(6, 1).is_empty());
        assert_eq!(length(&graph, 2), Ok(3));
    }

    #[test]
    fn noise_replaces_the_outcome_that_is_remembered() {
        let graph = remembering(3, 2, 1, 0.2);
        assert_eq!(graph.states(), 5);
        assert_eq!(graph.arrivals(2, 1), [(3, 0.1), (4, 0.9)]);
        assert_eq!(length(&graph, 2), Ok(3));
    }

    #[test]
    fn ways_of_different_lengths_are_refused() {
        let ends = || vec![vec![]];
        let leads = |to: usize, prob: f64| vec![vec![(to, prob)]];
        let length = |next| length(&StateGraph::new(next).unwrap(), 1);
        assert_eq!(length(vec![leads(1, 1.0), ends()]), Ok(2));
        for (next, state) in [(vec![leads(1, 0.5), ends()], 0), (vec![ends(), ends()], 1)] {
            let error = length(next).unwrap_err().to_string();
            assert!(error.starts_with(&format!("state {state} is not of one position")), "{error}");
        }
    }
}
