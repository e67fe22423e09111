//! Random softmax policies, one per state, with an advantage and a direction for each.

use entropy_core::Categorical;
use ndarray::Array2;
use ndarray_rand::rand_distr::{Distribution, StandardNormal, Uniform};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// A tabular policy over independent states; every array is `[states, actions]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    logits: Array2<f64>,
    advantage: Array2<f64>,
    direction: Array2<f64>,
}

/// One state of a population.
#[derive(Debug, Clone)]
pub struct State<'a> {
    /// The policy in this state.
    pub policy: Categorical,
    /// Its logits, `[actions]`; `-∞` marks an impossible action.
    pub logits: &'a [f64],
    /// Reward of each action over a baseline, `[actions]`. Not centred under the policy.
    pub advantage: &'a [f64],
    /// A direction in logit space, `[actions]`.
    pub direction: &'a [f64],
}

impl Population {
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
    pub fn random(seed: u64, states: usize, actions: usize) -> Self {
        assert!(actions >= 2, "{actions} actions: a choice needs at least two");
        let draw = |state| draw_state(seed, state, actions);
        let rows: Vec<[Vec<f64>; 3]> = (0..states).into_par_iter().map(draw).collect();
        let array = |part: usize| {
            let values = rows.iter().flat_map(|row| row[part].iter().copied()).collect();
            Array2::from_shape_vec((states, actions), values).expect("each row has all actions")
        };
        Self { logits: array(0), advantage: array(1), direction: array(2) }
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.logits.nrows()
    }

    /// Applies `f` to every state, on all threads; the results stand in the order of the states.
    pub fn map<T: Send>(&self, f: impl Fn(State<'_>) -> T + Sync) -> Vec<T> {
        (0..self.states()).into_par_iter().map(|state| f(self.state(state))).collect()
    }

    fn state(&self, state: usize) -> State<'_> {
        let logits = row_slice(&self.logits, state);
        State {
            policy: Categorical::from_logits(logits).expect("the first logit is finite"),
            logits,
            advantage: row_slice(&self.advantage, state),
            direction: row_slice(&self.direction, state),
        }
    }
}

fn row_slice(array: &Array2<f64>, row: usize) -> &[f64] {
    array.row(row).to_slice().expect("rows of a standard array are contiguous")
}

/// Logits, advantage and direction of one state.
fn draw_state(seed: u64, state: usize, actions: usize) -> [Vec<f64>; 3] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(((actions as u64) << 32) | state as u64);
    let log_deviation = Uniform::new(0.1f64.ln(), 6.0f64.ln()).expect("the bounds are in order");
    let deviation = log_deviation.sample(&mut rng).exp();
    let mut normals = |scale: f64, offset: f64| -> Vec<f64> {
        (0..actions).map(|_| offset + scale * normal(&mut rng)).collect()
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
    [logits, advantage, direction]
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_the_same_in_any_population() {
        let (small, large) = (Population::random(3, 4, 8), Population::random(3, 40, 8));
        for state in 0..4 {
            assert_eq!(small.logits.row(state), large.logits.row(state));
            assert_eq!(small.advantage.row(state), large.advantage.row(state));
        }
        assert_ne!(Population::random(4, 4, 8), small);
    }

    #[test]
    fn policies_reach_from_nearly_uniform_to_nearly_deterministic() {
        let population = Population::random(0, 200, 8);
        let entropies = population.map(|state| state.policy.entropy());
        let largest = 8f64.ln();
        assert!(entropies.iter().any(|h| *h > 0.99 * largest));
        assert!(entropies.iter().any(|h| *h < 0.02 * largest));
        let masked = population.map(|state| state.policy.support() == 7);
        assert_eq!(masked.iter().filter(|masked| **masked).count(), 25);
        let extreme = population.map(|state| state.logits[1] < -690.0 && state.logits[0] > 690.0);
        assert_eq!(extreme.iter().filter(|extreme| **extreme).count(), 25);
    }
}
