//! Exact policy-gradient steps of many states at once.

use entropy_core::kernel::{ExactStep, StepSummary, row};
use ndarray::Array2;
use rayon::prelude::*;
use std::iter::repeat_n;

/// Logits that a worker takes on at once; fixed, so that sums do not depend on the number of threads.
const LOGITS_PER_CHUNK: usize = 2_048;
/// Rows are padded to a multiple of this with impossible actions, for the row kernels work in such blocks.
const BLOCK: usize = 8;

/// A tabular softmax policy and a table of rewards, `[states, actions]`: independent states of equal weight.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicyTable {
    logits: Vec<f64>,
    rewards: Vec<f64>,
    /// An action of the largest logit, for each state.
    modes: Vec<usize>,
    /// Length of a row with its padding.
    stride: usize,
}

impl PolicyTable {
    /// Makes a table of finite logits and rewards, both `[states, actions]`.
    pub(super) fn new(logits: &Array2<f64>, rewards: &Array2<f64>) -> Self {
        let mode = |row: &[f64]| row::mode(row).expect("logits of a distribution");
        let modes = logits.rows().into_iter().map(|row| mode(&row.to_vec())).collect();
        let stride = logits.ncols().next_multiple_of(BLOCK);
        Self {
            logits: padded(logits, stride, f64::NEG_INFINITY),
            rewards: padded(rewards, stride, 0.0),
            modes,
            stride,
        }
    }

    /// Takes `steps` exact steps, and returns the sums over the states just before each; they are not finite
    /// once the steps have left the range of numbers.
    ///
    /// A state never waits for another: each takes all its steps while its row is in the cache. Sums over
    /// states run in a fixed order, so that neither the number of threads nor a split of the run in two
    /// changes a bit.
    pub(super) fn run(&mut self, step: ExactStep, steps: usize) -> Vec<StepSummary> {
        let stride = self.stride;
        let rows = (LOGITS_PER_CHUNK / stride).max(1);
        let logits = self.logits.par_chunks_mut(rows * stride);
        let chunks = logits.zip(self.rewards.par_chunks(rows * stride));
        // A single chunk wakes no other thread.
        let sums: Vec<Vec<StepSummary>> = chunks
            .zip(self.modes.par_chunks_mut(rows))
            .map(|((logits, rewards), modes)| {
                let (mut sums, mut scratch) = (vec![StepSummary::default(); steps], Vec::new());
                for sum in &mut sums {
                    let rows = logits.chunks_exact_mut(stride).zip(rewards.chunks_exact(stride));
                    for ((logits, rewards), mode) in rows.zip(&mut *modes) {
                        let mut of_state = [StepSummary::default()];
                        *mode = step.run(logits, rewards, *mode, &mut scratch, &mut of_state);
                        add(std::slice::from_mut(sum), &of_state);
                    }
                }
                sums
            })
            .collect();
        let mut total = vec![StepSummary::default(); steps];
        for part in &sums {
            add(&mut total, part);
        }
        total
    }
}

/// The rows of `table` end to end, each filled up to `stride` values.
fn padded(table: &Array2<f64>, stride: usize, fill: f64) -> Vec<f64> {
    let padding = stride - table.ncols();
    let rows = table.rows().into_iter();
    rows.flat_map(|row| row.to_vec().into_iter().chain(repeat_n(fill, padding))).collect()
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
    use entropy_core::UpdateRule;

    fn table(states: usize, actions: usize) -> PolicyTable {
        let wave = |(s, a): (usize, usize)| ((s * 37 + a * 11) as f64).sin();
        let logits = Array2::from_shape_fn((states, actions), wave);
        let rewards = logits.mapv(|z| (z * 9.0).cos());
        PolicyTable::new(&logits, &rewards)
    }

    #[test]
    fn sums_over_states_and_moved_logits_are_those_of_each_state() {
        for rule in [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient] {
            let mut table = table(300, 21);
            let before = table.clone();
            let step = ExactStep::new(rule, 0.4);
            let total = table.run(step, 1)[0];
            let mut sum = [StepSummary::default()];
            for (state, moved) in table.logits.chunks_exact(table.stride).enumerate() {
                let row = state * table.stride..state * table.stride + 21;
                let mut logits = before.logits[row.clone()].to_vec();
                let (reward, mode) = (&before.rewards[row], before.modes[state]);
                let mut summary = [StepSummary::default()];
                let mode = step.run(&mut logits, reward, mode, &mut Vec::new(), &mut summary);
                assert_eq!((&logits[..], mode), (&moved[..21], table.modes[state]));
                add(&mut sum, &summary);
            }
            for (total, sum) in [
                (total.entropy, sum[0].entropy),
                (total.covariance, sum[0].covariance),
                (total.value, sum[0].value),
            ] {
                assert!((total - sum).abs() < 3e-12, "{total}, expected {sum}");
            }
        }
    }

    #[test]
    fn neither_threads_nor_cuts_change_a_bit() {
        for (states, actions) in [(1, 5), (101, 100), (3, 5_000)] {
            let run = |threads: usize, parts: &[usize]| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut table = table(states, actions);
                let step = ExactStep::new(UpdateRule::PolicyGradient, 2.0);
                let sums: Vec<_> =
                    pool.install(|| parts.iter().map(|steps| table.run(step, *steps)).collect());
                (table, sums.concat())
            };
            let expected = run(1, &[300]);
            assert_eq!(expected.1.len(), 300);
            assert_eq!(run(2, &[300]), expected);
            assert_eq!(run(7, &[1, 0, 260, 39]), expected);
        }
    }
}
