//! Shard of the mini-batch on one rank, and the buckets its tokens are selected from.

use std::ops::Range;

use crate::{
    fast::{candidates::Best, scan::Run},
    plan::error::PlanError,
};

/// Maps the shard of one rank to the mini-batch: whole sequences, any of them, in their order.
///
/// ```
/// use rl_losses::Share;
/// let share = Share::of(&[2, 3, 1, 4], &[0, 2, 3]);
/// assert_eq!(share.len(), 7);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    tokens: usize,
    pub(super) pools: Vec<Pool>,
}

/// Tokens that compete with each other to be selected.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pool {
    /// Bucket whose tokens these are; without one, a share of the mini-batch is selected.
    pub(super) bucket: Option<Bucket>,
    /// Runs of them that follow each other in the mini-batch too.
    pub(super) runs: Vec<Run>,
}

/// A bucket of the mini-batch, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bucket {
    /// Share of its tokens that is selected.
    pub(super) fraction: f64,
    /// Its tokens.
    pub(super) tokens: usize,
}

impl Share {
    /// A whole mini-batch of `tokens` tokens.
    pub(super) fn whole(tokens: usize) -> Self {
        let runs = vec![Run { first: 0, tokens: 0..tokens }];
        Self { tokens, pools: vec![Pool { bucket: None, runs }] }
    }

    /// The tokens of `sequences`, ascending indices into the sequences of a mini-batch of these lengths, `[sequences]` in
    /// tokens.
    ///
    /// # Panics
    ///
    /// If the indices do not ascend, or name no sequence.
    pub fn of(sequence_lengths: &[usize], sequences: &[usize]) -> Self {
        let mut pools = vec![Pool { bucket: None, runs: Vec::new() }];
        let tokens = add_to_pools(sequence_lengths, sequences, |_| 0, &mut pools);
        Self { tokens, pools }
    }

    /// Maps like [`of`](Self::of), with `fractions[b]` of the tokens of bucket `b` to be selected. `buckets` has the bucket of
    /// each sequence of the mini-batch, `[sequences]`.
    ///
    /// # Errors
    ///
    /// [`PlanError::Unfit`] if a sequence has no bucket with a fraction.
    ///
    /// # Panics
    ///
    /// Under the same conditions as [`of`](Self::of).
    pub fn of_buckets(
        sequence_lengths: &[usize],
        sequences: &[usize],
        buckets: &[usize],
        fractions: &[f64],
    ) -> Result<Self, PlanError> {
        let (assigned, expected) = (buckets.len(), sequence_lengths.len());
        if assigned != expected {
            return Err(PlanError::Unfit(format!(
                "`buckets` has {assigned} sequences, the batch has {expected}"
            )));
        }
        let mut tokens = vec![0; fractions.len()];
        for (index, (&bucket, length)) in std::iter::zip(buckets, sequence_lengths).enumerate() {
            let unfit = || {
                PlanError::Unfit(format!(
                    "`buckets` is {bucket} at sequence {index}, expected below {}, as there are shares",
                    fractions.len()
                ))
            };
            *tokens.get_mut(bucket).ok_or_else(unfit)? += length;
        }
        let pool = |(&fraction, tokens)| Pool {
            bucket: Some(Bucket { fraction, tokens }),
            runs: Vec::new(),
        };
        let mut pools: Vec<Pool> = std::iter::zip(fractions, tokens).map(pool).collect();
        let tokens =
            add_to_pools(sequence_lengths, sequences, |sequence| buckets[sequence], &mut pools);
        Ok(Self { tokens, pools })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens
    }

    /// Returns true if the share has no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens == 0
    }

    /// The runs of some tokens of the share.
    pub(super) fn runs_within(&self, tokens: &Range<usize>) -> impl Iterator<Item = Run> {
        self.pools.iter().flat_map(|pool| &pool.runs).filter_map(|run| {
            let start = run.tokens.start.max(tokens.start);
            let inside = start..run.tokens.end.min(tokens.end);
            let first = run.first + (start - run.tokens.start);
            (!inside.is_empty()).then_some(Run { first, tokens: inside })
        })
    }

    /// Positions in the share of the selected tokens, ascending; those of other ranks are left out.
    pub(super) fn selected(&self, best: Vec<Best>) -> Vec<usize> {
        let mut positions = Vec::new();
        for (pool, best) in std::iter::zip(&self.pools, best) {
            let selected = best.selected();
            for run in &pool.runs {
                let first = run.first as u64;
                let last = first + run.tokens.len() as u64;
                let from = selected.partition_point(|&token| token < first);
                let inside = selected[from..].iter().take_while(|&&token| token < last);
                positions.extend(inside.map(|&token| {
                    let within = usize::try_from(token - first).expect("within the run");
                    run.tokens.start + within
                }));
            }
        }
        positions.sort_unstable();
        positions
    }
}

/// Adds the tokens of `sequences` to their pools, and returns their number; neighbours in a pool are one run.
fn add_to_pools(
    sequence_lengths: &[usize],
    sequences: &[usize],
    pool_of: impl Fn(usize) -> usize,
    pools: &mut [Pool],
) -> usize {
    assert!(sequences.is_sorted_by(|a, b| a < b), "sequences in their order");
    let (mut position, mut next, mut held) = (0, 0, 0);
    for &sequence in sequences {
        position += sequence_lengths[next..sequence].iter().sum::<usize>();
        next = sequence + 1;
        let length = sequence_lengths[sequence];
        let runs = &mut pools[pool_of(sequence)].runs;
        match runs.last_mut() {
            Some(run) if run.first + run.tokens.len() == position && run.tokens.end == held => {
                run.tokens.end += length;
            }
            _ => runs.push(Run { first: position, tokens: held..held + length }),
        }
        position += length;
        held += length;
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: usize, tokens: Range<usize>) -> Run {
        Run { first, tokens }
    }

    #[test]
    fn neighbours_are_one_run_and_empty_sequences_none_of_their_own() {
        let share = Share::of(&[2, 3, 0, 1, 4], &[0, 1, 2, 4]);
        assert_eq!(share.pools[0].runs, [run(0, 0..5), run(6, 5..9)]);
        assert!(Share::of(&[2, 3], &[]).is_empty());
        let within: Vec<Run> = share.runs_within(&(4..7)).collect();
        assert_eq!(within, [run(4, 4..5), run(6, 5..7)]);
    }

    #[test]
    fn each_bucket_has_its_runs_and_the_tokens_of_all_ranks() {
        let share =
            Share::of_buckets(&[2, 3, 1, 4, 1], &[0, 1, 3], &[0, 0, 1, 0, 1], &[0.1, 0.2, 0.3]);
        let share = share.unwrap();
        let runs: Vec<&[Run]> = share.pools.iter().map(|pool| &pool.runs[..]).collect();
        assert_eq!(runs, [&[run(0, 0..5), run(6, 5..9)][..], &[], &[]]);
        let tokens: Vec<usize> =
            share.pools.iter().map(|pool| pool.bucket.unwrap().tokens).collect();
        assert_eq!(tokens, [9, 2, 0]);
    }

    #[test]
    fn a_sequence_without_a_bucket_is_named() {
        let error = Share::of_buckets(&[1, 1], &[0], &[0, 2], &[0.1, 0.1]).unwrap_err();
        let expected = "`buckets` is 2 at sequence 1, expected below 2, as there are shares";
        assert_eq!(error.to_string(), expected);
        let error = Share::of_buckets(&[1, 1], &[0], &[0], &[0.1, 0.1]).unwrap_err();
        assert_eq!(error.to_string(), "`buckets` has 1 sequences, the batch has 2");
    }
}
