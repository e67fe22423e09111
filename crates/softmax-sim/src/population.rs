//! Random softmax policies, one per state, with an advantage and a direction for each.

use entropy_core::Categorical;
use ndarray_rand::rand_distr::{Distribution, StandardNormal, Uniform};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// A policy in one of many independent states.
#[derive(Debug, Clone)]
pub struct State {
    /// The policy in this state.
    pub policy: Categorical,
    /// Its logits, `[actions]`; `-∞` marks an impossible action.
    pub logits: Vec<f64>,
    /// Reward of each action over a baseline, `[actions]`. Not centred under the policy.
    pub advantage: Vec<f64>,
    /// A direction in logit space, `[actions]`.
    pub direction: Vec<f64>,
}

/// Draws `states` policies over `actions` actions.
///
/// From nearly uniform to nearly deterministic: the logits of a state are normal with a
/// deviation between 0.1 and 6, even in its logarithm. In one state of eight the last action
/// is impossible (never with two actions, which would leave one), in another the first two are
/// equally likely, in a third the logits lie around +700 and -700 in turn (with two actions,
/// both around +700). Each state draws from a stream of its own.
///
/// # Panics
///
/// If there are fewer than two actions.
pub fn population(seed: u64, states: usize, actions: usize) -> Vec<State> {
    assert!(actions >= 2, "{actions} actions: a choice needs at least two");
    (0..states).into_par_iter().map(|state| draw_state(seed, state, actions)).collect()
}

fn draw_state(seed: u64, state: usize, actions: usize) -> State {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(((actions as u64) << 32) | state as u64);
    let log_deviation = Uniform::new(0.1f64.ln(), 6.0f64.ln()).expect("the bounds are in order");
    let deviation = log_deviation.sample(&mut rng).exp();
    let mut normals = |scale: f64, offset: f64| -> Vec<f64> {
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        (0..actions).map(|_| offset + scale * normal()).collect()
    };
    let mut logits = normals(deviation, 0.0);
    let baseline = normals(1.0, 0.0)[0];
    let advantage = normals(1.0, baseline);
    let direction = normals(1.0, 0.0);
    match state % 8 {
        3 if actions > 2 => logits[actions - 1] = f64::NEG_INFINITY,
        5 => logits[1] = logits[0],
        6 if actions > 3 => {
            for (action, logit) in logits.iter_mut().enumerate() {
                *logit += if action % 2 == 0 { 700.0 } else { -700.0 };
            }
        }
        6 => logits.iter_mut().for_each(|logit| *logit += 700.0),
        _ => {}
    }
    let policy = Categorical::from_logits(&logits).expect("the first logit is finite");
    State { policy, logits, advantage, direction }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_the_same_in_any_population() {
        let (small, large) = (population(3, 4, 8), population(3, 40, 8));
        for (one, other) in std::iter::zip(&small, &large) {
            assert_eq!((&one.logits, &one.advantage), (&other.logits, &other.advantage));
        }
        assert_ne!(population(4, 4, 8)[0].logits, small[0].logits);
    }

    #[test]
    fn policies_reach_from_nearly_uniform_to_nearly_deterministic() {
        let states = population(0, 200, 8);
        let count = |holds: fn(&State) -> bool| states.iter().filter(|state| holds(state)).count();
        assert!(count(|state| state.policy.entropy() > 0.99 * 8f64.ln()) > 0);
        assert!(count(|state| state.policy.entropy() < 0.02 * 8f64.ln()) > 0);
        assert_eq!(count(|state| state.policy.support() == 7), 25);
        assert_eq!(count(|state| state.logits[1] < -690.0 && state.logits[0] > 690.0), 25);
    }
}
