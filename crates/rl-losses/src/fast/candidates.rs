//! The tokens of highest priority, found without sorting the rest.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::exact_sum::ExactSum;

/// A token that may be selected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Candidate {
    /// Rank of the token; larger is first.
    priority: f64,
    /// Position in the mini-batch, over all ranks.
    token: u64,
}

impl Candidate {
    /// Higher priority first; of equals, the earlier token.
    fn order(&self, other: &Self) -> Ordering {
        // `+ 0.0` makes both zeros one number.
        (other.priority + 0.0).total_cmp(&(self.priority + 0.0)).then(self.token.cmp(&other.token))
    }
}

/// The best tokens so far. Merging is associative and commutative, and gives those of all parts together, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Best {
    /// Number of tokens selected in the end.
    keep: usize,
    /// At most twice as many candidates, the best among them.
    best: Vec<Candidate>,
}

impl Best {
    /// Creates an empty set, from which `keep` will be selected.
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, best: Vec::new() }
    }

    /// Adds a candidate; says whether the least priority that counts may have risen.
    #[inline]
    pub(crate) fn push(&mut self, priority: f64, token: u64) -> bool {
        self.best.push(Candidate { priority, token });
        let full = self.best.len() >= self.keep.saturating_mul(2).max(1);
        if full {
            self.shrink();
        }
        full
    }

    /// Returns true if there are at least as many candidates as will be selected.
    pub(crate) fn is_full(&self) -> bool {
        self.best.len() >= self.keep
    }

    /// Candidates of no more priority than this cannot be selected, if they come later.
    pub(crate) fn least(&self) -> f64 {
        if self.keep > 0 && self.best.len() == self.keep {
            self.best[self.keep - 1].priority
        } else if self.keep == 0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        }
    }

    /// Adds the best of another part of the same mini-batch.
    pub(crate) fn merge(&mut self, other: Self) {
        self.best.extend(other.best);
        self.shrink();
    }

    /// Positions of the selected tokens over all ranks, ascending.
    pub(crate) fn selected(mut self) -> Vec<u64> {
        self.shrink();
        let mut tokens: Vec<u64> = self.best.iter().map(|candidate| candidate.token).collect();
        tokens.sort_unstable();
        tokens
    }

    /// Keeps the best, the last of them at the end.
    fn shrink(&mut self) {
        if self.keep == 0 {
            self.best.clear();
        } else if self.best.len() >= self.keep {
            self.best.select_nth_unstable_by(self.keep - 1, Candidate::order);
            self.best.truncate(self.keep);
        }
    }
}

/// The candidates of a part of a mini-batch: what ranks exchange to select over all of it.
///
/// One list of the best for each bucket of sequences that has a share of its own; without buckets, one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    pub(crate) best: Vec<Best>,
    /// Sums of terms that depend on the summary of the mini-batch.
    pub(crate) sums: Vec<ExactSum>,
}

impl Candidates {
    /// Adds the candidates of another part of the same mini-batch; no bit depends on the order of the parts.
    pub fn merge(&mut self, other: Self) {
        for (best, others) in std::iter::zip(&mut self.best, other.best) {
            best.merge(others);
        }
        for (sum, other) in std::iter::zip(&mut self.sums, &other.sums) {
            sum.merge(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a sort, with many ties, in any split.
        #[test]
        fn the_best_are_those_a_stable_sort_puts_first(
            priorities in prop::collection::vec((-3i32..3).prop_map(f64::from), 0..60),
            keep in 0usize..20, cut: prop::sample::Index,
        ) {
            let mut sorted: Vec<usize> = (0..priorities.len()).collect();
            sorted.sort_by(|&a, &b| priorities[b].total_cmp(&priorities[a]));
            let mut expected: Vec<u64> = sorted.iter().take(keep).map(|&i| i as u64).collect();
            expected.sort_unstable();

            let cut = cut.index(priorities.len() + 1);
            let part = |run: std::ops::Range<usize>| {
                let mut part = Best::new(keep);
                let mut least = part.least();
                for token in run {
                    if priorities[token] > least && part.push(priorities[token], token as u64) {
                        least = part.least();
                    }
                }
                part
            };
            let mut right = part(cut..priorities.len());
            right.merge(part(0..cut));
            prop_assert_eq!(right.selected(), expected);
        }
    }
}
