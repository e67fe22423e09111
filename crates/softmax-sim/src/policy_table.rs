//! Exact policy-gradient steps of many states at once.

use entropy_core::kernel::{ExactStep, StepSummary, row};
use entropy_core::{LogitsError, UpdateRule};
use ndarray::{Array2, ArrayView2, s};
use rayon::prelude::*;
use std::iter::repeat_n;
use thiserror::Error;

/// Logits that a worker takes on at once; fixed, so that sums do not depend on the number of threads.
const LOGITS_PER_CHUNK: usize = 2_048;
/// Rows are padded to a multiple of this with impossible actions, for the row kernels work in such blocks.
const BLOCK: usize = 8;
/// Steps whose summaries are in memory at once, for every chunk.
const STEPS_AT_ONCE: usize = 256;

/// Why logits and rewards form no table, or a run of steps failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PolicyTableError {
    /// There is no state.
    #[error("the table has no states: expected at least one")]
    Empty,
    /// Rewards of another shape.
    #[error("rewards are {found:?}; logits are {expected:?}")]
    Shape {
        /// Shape of the rewards, `[states, actions]`.
        found: [usize; 2],
        /// Shape of the logits.
        expected: [usize; 2],
    },
    /// The logits of a state define no distribution.
    #[error("state {state}: {source}")]
    Logits {
        /// The state.
        state: usize,
        /// Error in its logits.
        source: LogitsError,
    },
    /// A reward is NaN or infinite.
    #[error("state {state}: the reward of action {action} is {value}; expected a finite number")]
    Reward {
        /// The state.
        state: usize,
        /// The action.
        action: usize,
        /// Its reward.
        value: f64,
    },
    /// The step size is NaN or infinite.
    #[error("eta is {eta}; expected a finite number")]
    Eta {
        /// The step size.
        eta: f64,
    },
    /// The steps have carried a logit beyond the range of numbers.
    #[error(
        "after {steps} steps the policy is no longer finite; expected a smaller eta than {eta}"
    )]
    Diverged {
        /// Steps after which it was noticed.
        steps: usize,
        /// The step size.
        eta: f64,
    },
}

/// A tabular softmax policy and a table of rewards, `[states, actions]`: independent states of equal weight.
///
/// ```
/// use entropy_core::UpdateRule;
/// use ndarray::array;
/// use softmax_sim::policy_table::PolicyTable;
///
/// let mut table = PolicyTable::new(&array![[0.0, 0.0], [1.0, 1.0]], &array![[1.0, 0.0], [0.0, 2.0]])?;
/// let means = table.run(UpdateRule::NaturalPolicyGradient, 0.5, 3)?;
/// assert_eq!(means[0].value, 0.75);
/// assert!(means[2].entropy < means[0].entropy);
/// # Ok::<(), softmax_sim::policy_table::PolicyTableError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyTable {
    logits: Vec<f64>,
    rewards: Vec<f64>,
    /// An action of the largest logit, for each state.
    modes: Vec<usize>,
    actions: usize,
    /// Length of a row with its padding.
    stride: usize,
}

impl PolicyTable {
    /// Makes a table of logits and rewards, both `[states, actions]`: logits finite or `-∞` (impossible), rewards finite.
    ///
    /// # Errors
    ///
    /// [`PolicyTableError`], with state and action, if one of them is something else.
    pub fn new(logits: &Array2<f64>, rewards: &Array2<f64>) -> Result<Self, PolicyTableError> {
        let expected = [logits.nrows(), logits.ncols()];
        let shape = [rewards.nrows(), rewards.ncols()];
        if shape != expected {
            return Err(PolicyTableError::Shape { found: shape, expected });
        }
        let [states, actions] = expected;
        if states == 0 {
            return Err(PolicyTableError::Empty);
        }
        let mut modes = Vec::with_capacity(states);
        for (state, row) in logits.rows().into_iter().enumerate() {
            let mode = row::mode(&row.to_vec());
            modes.push(mode.map_err(|source| PolicyTableError::Logits { state, source })?);
        }
        let bad = rewards.indexed_iter().find(|(_, value)| !value.is_finite());
        if let Some(((state, action), &value)) = bad {
            return Err(PolicyTableError::Reward { state, action, value });
        }
        let stride = actions.next_multiple_of(BLOCK);
        Ok(Self {
            logits: padded(logits, stride, f64::NEG_INFINITY),
            rewards: padded(rewards, stride, 0.0),
            modes,
            actions,
            stride,
        })
    }

    /// The logits as they stand, `[states, actions]`.
    ///
    /// # Panics
    ///
    /// Never: the table has kept its shape.
    pub fn logits(&self) -> ArrayView2<'_, f64> {
        let shape = (self.modes.len(), self.stride);
        let padded =
            ArrayView2::from_shape(shape, &self.logits).expect("the table keeps its shape");
        padded.slice_move(s![.., ..self.actions])
    }

    /// Takes `steps` exact steps of size `eta`, and returns the means over the states just before each.
    ///
    /// A state never waits for another: each takes all its steps while its row is in the cache. Sums over
    /// states run in a fixed order, so that neither the number of threads nor a split of the run in two
    /// changes a bit.
    ///
    /// # Errors
    ///
    /// [`PolicyTableError::Eta`] if `eta` is not finite, [`PolicyTableError::Diverged`] if the policy is no
    /// longer finite; the table is then of no use.
    pub fn run(
        &mut self,
        rule: UpdateRule,
        eta: f64,
        steps: usize,
    ) -> Result<Vec<StepSummary>, PolicyTableError> {
        if !eta.is_finite() {
            return Err(PolicyTableError::Eta { eta });
        }
        let step = ExactStep::new(rule, eta);
        let mut means = Vec::with_capacity(steps);
        while means.len() < steps {
            let burst = (steps - means.len()).min(STEPS_AT_ONCE);
            means.extend(self.burst(step, burst));
            let finite = |m: &StepSummary| (m.entropy + m.covariance + m.value).is_finite();
            if !means.last().is_none_or(finite) {
                return Err(PolicyTableError::Diverged { steps: means.len(), eta });
            }
        }
        Ok(means)
    }

    fn burst(&mut self, step: ExactStep, steps: usize) -> Vec<StepSummary> {
        let states = self.modes.len();
        let rows = (LOGITS_PER_CHUNK / self.stride).max(1);
        let size = rows * self.stride;
        let sums = if states <= rows {
            // A single chunk: no other thread need be woken for it.
            chunk_sums(step, steps, self.stride, &mut self.logits, &self.rewards, &mut self.modes)
        } else {
            let logits = self.logits.par_chunks_mut(size);
            let chunks =
                logits.zip(self.rewards.par_chunks(size)).zip(self.modes.par_chunks_mut(rows));
            let stride = self.stride;
            let sums: Vec<Vec<StepSummary>> = chunks
                .map(|((logits, rewards), modes)| {
                    chunk_sums(step, steps, stride, logits, rewards, modes)
                })
                .collect();
            sums.into_iter()
                .reduce(|mut total, part| {
                    add(&mut total, &part);
                    total
                })
                .unwrap_or_default()
        };
        let mean = |sum: f64| sum / states as f64;
        let mean = |sum: StepSummary| StepSummary {
            entropy: mean(sum.entropy),
            covariance: mean(sum.covariance),
            value: mean(sum.value),
        };
        sums.into_iter().map(mean).collect()
    }
}

/// The rows of `table` end to end, each filled up to `stride` values.
fn padded(table: &Array2<f64>, stride: usize, fill: f64) -> Vec<f64> {
    let padding = stride - table.ncols();
    let rows = table.rows().into_iter();
    rows.flat_map(|row| row.to_vec().into_iter().chain(repeat_n(fill, padding))).collect()
}

/// Takes all steps of one state after another; returns the sums over the states for each step.
fn chunk_sums(
    step: ExactStep,
    steps: usize,
    stride: usize,
    logits: &mut [f64],
    rewards: &[f64],
    modes: &mut [usize],
) -> Vec<StepSummary> {
    let mut sums = vec![StepSummary::default(); steps];
    let mut scratch = Vec::new();
    for sum in &mut sums {
        let rows = logits.chunks_exact_mut(stride).zip(rewards.chunks_exact(stride));
        for ((logits, rewards), mode) in rows.zip(&mut *modes) {
            let mut of_state = [StepSummary::default()];
            *mode = step.run(logits, rewards, *mode, &mut scratch, &mut of_state);
            add(std::slice::from_mut(sum), &of_state);
        }
    }
    sums
}

fn add(sums: &mut [StepSummary], terms: &[StepSummary]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        sum.entropy += term.entropy;
        sum.covariance += term.covariance;
        sum.value += term.value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entropy_core::Categorical;
    use ndarray::array;

    const RULES: [UpdateRule; 2] = [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient];

    fn table(states: usize, actions: usize) -> PolicyTable {
        let wave = |(s, a): (usize, usize)| ((s * 37 + a * 11) as f64).sin();
        let logits = Array2::from_shape_fn((states, actions), wave);
        let rewards = logits.mapv(|z| (z * 9.0).cos());
        PolicyTable::new(&logits, &rewards).unwrap()
    }

    #[test]
    fn means_over_states_and_moved_logits_are_those_of_the_reference() {
        for rule in RULES {
            let mut table = table(300, 21);
            let before = table.clone();
            let means = table.run(rule, 0.4, 1).unwrap();
            let mut expected = StepSummary::default();
            for (state, moved) in table.logits().rows().into_iter().enumerate() {
                let row = before.logits().row(state).to_vec();
                let policy = Categorical::from_logits(&row).unwrap();
                let reward = &before.rewards[state * before.stride..][..21];
                let value = policy.mean(reward);
                let advantage: Vec<f64> = reward.iter().map(|r| r - value).collect();
                let direction = rule.step(&policy, &advantage, 1.0);
                expected.entropy += policy.entropy() / 300.0;
                expected.value += value / 300.0;
                expected.covariance +=
                    policy.covariance(policy.centred_log_probs(), &direction) / 300.0;
                for (a, moved) in moved.iter().enumerate() {
                    let expected = row[a] + 0.4 * direction[a];
                    assert!((moved - expected).abs() < 1e-14, "{moved}, expected {expected}");
                }
            }
            let mean = means[0];
            assert!((mean.entropy - expected.entropy).abs() < 1e-13, "{mean:?} {expected:?}");
            assert!((mean.covariance - expected.covariance).abs() < 1e-14, "{mean:?} {expected:?}");
            assert!((mean.value - expected.value).abs() < 1e-14, "{mean:?} {expected:?}");
        }
    }

    #[test]
    fn neither_threads_nor_cuts_change_a_bit() {
        for (states, actions) in [(1, 5), (101, 100), (3, 5_000)] {
            let run = |threads: usize, parts: &[usize]| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut table = table(states, actions);
                let rule = UpdateRule::PolicyGradient;
                let means: Vec<_> = pool.install(|| {
                    parts.iter().map(|steps| table.run(rule, 2.0, *steps).unwrap()).collect()
                });
                (table, means.concat())
            };
            let expected = run(1, &[300]);
            assert_eq!(expected.1.len(), 300);
            assert_eq!(run(2, &[300]), expected);
            assert_eq!(run(7, &[1, 0, 260, 39]), expected);
        }
    }

    #[test]
    fn a_bad_table_is_refused_with_its_place() {
        let good = array![[0.0, 1.0], [0.0, f64::NEG_INFINITY]];
        let refused = |logits: &Array2<f64>, rewards: Array2<f64>| {
            PolicyTable::new(logits, &rewards).unwrap_err().to_string()
        };
        assert_eq!(refused(&good, array![[0.0, 1.0]]), "rewards are [1, 2]; logits are [2, 2]");
        assert_eq!(
            refused(&good, array![[0.0, 1.0], [0.0, f64::NAN]]),
            "state 1: the reward of action 1 is NaN; expected a finite number"
        );
        let mut bad = good.clone();
        bad[[1, 0]] = f64::NAN;
        assert_eq!(
            refused(&bad, good.mapv(|_| 0.0)),
            "state 1: logit 0 is NaN; logits must be finite or -inf"
        );
        bad[[1, 0]] = f64::NEG_INFINITY;
        assert!(refused(&bad, good.mapv(|_| 0.0)).starts_with("state 1: all 2 logits are -inf"));
        assert!(refused(&Array2::zeros((0, 3)), Array2::zeros((0, 3))).contains("no states"));
        assert!(refused(&Array2::zeros((2, 0)), Array2::zeros((2, 0))).contains("no logits"));
    }

    #[test]
    fn a_step_that_leaves_the_numbers_is_told() {
        let rule = UpdateRule::NaturalPolicyGradient;
        let mut table = PolicyTable::new(&array![[0.0, 1.0]], &array![[0.0, 1e200]]).unwrap();
        assert_eq!(
            table.run(rule, f64::NAN, 1).unwrap_err().to_string(),
            "eta is NaN; expected a finite number"
        );
        let error = table.run(rule, 1e200, 3).unwrap_err();
        assert_eq!(error, PolicyTableError::Diverged { steps: 3, eta: 1e200 });
    }
}
