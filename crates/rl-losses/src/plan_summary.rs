//! The summary of a part of a mini-batch, from which all parts make the same plan.

use serde::{Deserialize, Serialize};

use crate::fast::exact_sum::ExactSum;

/// Counts and sums that each part of a mini-batch sends to the others before any of them can rank its tokens: the same to the last
/// bit in any order and any grouping.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Tokens.
    pub tokens: usize,
    /// Sequences with at least one token.
    pub sequences: usize,
    /// Sum of the advantages, if covariances are centred on the batch.
    pub advantage: ExactSum,
    /// Sum of the log-probabilities, likewise.
    pub log_prob: ExactSum,
    /// Largest magnitude of what the method scales by its largest: STEER's change of entropy.
    pub largest: f64,
    /// Sums that the method finds its bounds by: BAPO's contributions at each place of a bound, the discriminators and their squares.
    pub sums: Vec<ExactSum>,
}

impl PlanSummary {
    /// Adds another part of the same mini-batch.
    pub fn merge(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.sequences += other.sequences;
        self.advantage.merge(&other.advantage);
        self.log_prob.merge(&other.log_prob);
        self.largest = self.largest.max(other.largest);
        self.sums.resize_with(other.sums.len().max(self.sums.len()), ExactSum::default);
        for (sum, other) in std::iter::zip(&mut self.sums, &other.sums) {
            sum.merge(other);
        }
    }
}
