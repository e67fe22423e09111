//! Passes over the tokens that a selection needs: one for the means, one for the tokens that come first.

use std::{iter::zip, ops::Range};

use entropy_core::{TokenCentre, state_token_covariance};
use pulp::NullaryFnOnce;

use super::{candidates::Best, draw, threads::runs};
use crate::{
    Centering, Column, ExactSum, PlanSummary, Real, Semantics, TokenBatch,
    selection::{Order, Selection},
};

/// Tokens whose priorities are computed together.
const BLOCK: usize = u64::BITS as usize;
/// Tokens passed over together where none of them ranks.
const STRETCH: usize = 8 * BLOCK;

/// Tokens of a batch that follow each other in the mini-batch too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Position of the first token in the mini-batch.
    pub(crate) first: usize,
    /// Positions within the batch.
    pub(crate) tokens: Range<usize>,
}

/// Counts of a run of tokens and, if `selection` centres on them, the sums of its columns.
pub(crate) fn summary<R: Real>(
    selection: &Selection,
    batch: &TokenBatch<'_, R>,
    tokens: Range<usize>,
) -> PlanSummary {
    let mut summary = PlanSummary { tokens: tokens.len(), ..PlanSummary::default() };
    if selection.needs_means() {
        let (advantage, log_prob) =
            (&batch.advantage()[tokens.clone()], &batch.log_prob()[tokens.clone()]);
        let (threads, pieces) = (batch.threads(), batch.threads().pieces(tokens.len()).collect());
        let sums = threads.map(pieces, |piece: Range<usize>| {
            pulp::Arch::new()
                .dispatch(Sums { advantage: &advantage[piece.clone()], log_prob: &log_prob[piece] })
        });
        for (advantage, log_prob) in sums {
            summary.advantage.merge(&advantage);
            summary.log_prob.merge(&log_prob);
        }
    }
    summary
}

struct Sums<'a, R> {
    advantage: &'a [R],
    log_prob: &'a [R],
}

impl<R: Real> NullaryFnOnce for Sums<'_, R> {
    type Output = (ExactSum, ExactSum);

    #[inline(always)]
    fn call(self) -> Self::Output {
        (ExactSum::of(self.advantage), ExactSum::of(self.log_prob))
    }
}

/// The `keep` tokens of some runs that come first, with covariances centred on `centre`; `seed` is that of the draw.
pub(crate) fn first<R: Real>(
    selection: &Selection,
    batch: &TokenBatch<'_, R>,
    (centre, seed): (TokenCentre, u64),
    chosen: &[Run],
    keep: usize,
) -> Best {
    let tokens = chosen.iter().map(|run| run.tokens.len()).sum::<usize>();
    let pass = |drawn_above: Option<u64>| {
        let pieces = chosen.iter().flat_map(|run| {
            batch.threads().pieces(run.tokens.len()).map(|piece| Run {
                first: run.first + piece.start,
                tokens: run.tokens.start + piece.start..run.tokens.start + piece.end,
            })
        });
        let parts = batch.threads().map(pieces.collect(), |run| {
            pulp::Arch::new().dispatch(Scan {
                selection,
                batch,
                centre,
                seed,
                run,
                keep,
                drawn_above,
            })
        });
        parts.into_iter().fold(Best::new(keep), |mut all, part| {
            all.merge(part);
            all
        })
    };
    if let Some(floor) = draw::floor(keep, tokens).filter(|_| selection.draws()) {
        let drawn = pass(Some(floor));
        // Where too few of those lie in the band, others are selected too.
        if drawn.is_full() {
            return drawn;
        }
    }
    pass(None)
}

/// One pass over a run. Not a closure: those are not always inlined into the code for the wide vectors.
struct Scan<'a, 'b, R> {
    selection: &'a Selection,
    batch: &'a TokenBatch<'b, R>,
    centre: TokenCentre,
    seed: u64,
    run: Run,
    keep: usize,
    /// Only tokens that drew more than this are looked at.
    drawn_above: Option<u64>,
}

impl<R: Real> NullaryFnOnce for Scan<'_, '_, R> {
    type Output = Best;

    #[inline(always)]
    fn call(self) -> Best {
        let best = Best::new(self.keep);
        match self.drawn_above {
            Some(floor) => self.drawn_above(best, floor),
            None => self.all(best),
        }
    }
}

impl<R: Real> Scan<'_, '_, R> {
    /// Looks at all tokens, by stretches: a vector comparison shows that most stretches hold no token that could be
    /// selected.
    #[inline(always)]
    fn all(&self, mut best: Best) -> Best {
        let mut least = best.least();
        for stretch in runs(self.run.tokens.len(), STRETCH) {
            if !self.any(stretch.clone(), least) {
                continue;
            }
            for block in runs(stretch.len(), BLOCK) {
                let block = stretch.start + block.start..stretch.start + block.end;
                if !self.any(block.clone(), least) {
                    continue;
                }
                let (start, mut priorities) = (block.start, [0.0; BLOCK]);
                let priorities = &mut priorities[..block.len()];
                self.priorities(block, priorities);
                for index in set(bits(priorities.iter().map(|&priority| priority > least))) {
                    let priority = priorities[index];
                    if priority > least && self.push(&mut best, priority, start + index) {
                        least = best.least();
                    }
                }
            }
        }
        best
    }

    /// Draws first and looks at the tokens that drew more than `floor`: most are not looked at.
    #[inline(always)]
    fn drawn_above(&self, mut best: Best, floor: u64) -> Best {
        let (mut least, mut priority) = (floor as f64, [0.0]);
        let least_first = draw::first_bits_of_those_above(floor);
        for block in runs(self.run.tokens.len(), BLOCK) {
            let position = (self.run.first + block.start) as u64;
            let drawn = draw::first_bits::<BLOCK>(self.seed, position);
            // Most blocks have no token that drew high.
            if drawn.iter().fold(0, |most, &drawn| most.max(drawn)) < least_first {
                continue;
            }
            for index in set(bits(drawn.iter().map(|&drawn| drawn >= least_first))) {
                let token = block.start + index;
                if token >= block.end {
                    break;
                }
                self.priorities(token..token + 1, &mut priority);
                if priority[0] > least && self.push(&mut best, priority[0], token) {
                    least = least.max(best.least());
                }
            }
        }
        best
    }

    /// Adds a token of the run; says whether the least priority that counts may have risen.
    #[inline(always)]
    fn push(&self, best: &mut Best, priority: f64, token: usize) -> bool {
        let index = self.run.tokens.start + token;
        let advantage = self.batch.advantage()[index];
        if !self.selection.admits(advantage) {
            return false;
        }
        if let Order::Draw { base, .. } = self.selection.by {
            let log_ratio = self.batch.log_prob()[index] - self.batch.old_log_prob()[index];
            // It has no gradient to lose.
            if base.clips(log_ratio.exp(), advantage) {
                return false;
            }
        }
        best.push(priority, (self.run.first + token) as u64)
    }

    /// The column of some tokens of the run.
    #[inline(always)]
    fn part<'c>(&self, column: &'c [R], tokens: Range<usize>) -> &'c [R] {
        &column[self.run.tokens.clone()][tokens]
    }

    /// Returns true if any of some tokens of the run may be selected, given that those of no more priority than `least` cannot.
    #[inline(always)]
    fn any(&self, tokens: Range<usize>, least: f64) -> bool {
        match self.selection.by {
            Order::Covariance(Centering::Batch) => {
                self.any_covariance(tokens, |covariance| covariance > least)
            }
            Order::Draw { centering: Centering::Batch, low, high, .. } => {
                self.any_covariance(tokens, |covariance| (low <= covariance) & (covariance <= high))
            }
            _ => true,
        }
    }

    #[inline(always)]
    fn any_covariance(&self, tokens: Range<usize>, holds: impl Fn(f64) -> bool) -> bool {
        let advantage = self.part(self.batch.advantage(), tokens.clone());
        let log_prob = self.part(self.batch.log_prob(), tokens);
        zip(advantage, log_prob).fold(false, |any, (advantage, log_prob)| {
            any | holds(self.centre.covariance(advantage.to_f64(), log_prob.to_f64()))
        })
    }

    /// Ranks the tokens of a block: covariance, entropy, or the number drawn.
    #[inline(always)]
    fn priorities(&self, block: Range<usize>, priorities: &mut [f64]) {
        let first_position = (self.run.first + block.start) as u64;
        self.values(block, priorities);
        if let Order::Draw { low, high, .. } = self.selection.by {
            // In place of each covariance the token's draw, or, outside of the band, a value by which no token is selected.
            let closed = self.selection.semantics == Semantics::Paper;
            for (index, priority) in priorities.iter_mut().enumerate() {
                let open = (low < *priority) & (*priority < high);
                let inside = open | (closed & (low <= *priority) & (*priority <= high));
                let drawn = draw::of(self.seed, first_position + index as u64) as f64;
                *priority = if inside { drawn } else { f64::NEG_INFINITY };
            }
        }
    }

    #[inline(always)]
    fn values(&self, block: Range<usize>, values: &mut [f64]) {
        let advantage = self.part(self.batch.advantage(), block.clone());
        let log_prob = self.part(self.batch.log_prob(), block.clone());
        let entropy = self.batch.column(Column::Entropy).map(|column| self.part(column, block));
        let by = self.selection.by;
        match entropy {
            Some(entropy) if by == Order::Entropy => {
                for (value, entropy) in zip(values, entropy) {
                    *value = entropy.to_f64();
                }
            }
            Some(entropy) if by.centering() == Some(Centering::State) => {
                for (value, ((a, log_prob), h)) in
                    zip(values, zip(zip(advantage, log_prob), entropy))
                {
                    *value = state_token_covariance(a.to_f64(), log_prob.to_f64(), h.to_f64());
                }
            }
            // Without the column there is nothing to rank by; `check` has refused the batch before.
            _ => {
                for (value, (advantage, log_prob)) in zip(values, zip(advantage, log_prob)) {
                    *value = self.centre.covariance(advantage.to_f64(), log_prob.to_f64());
                }
            }
        }
    }
}

/// Up to [`BLOCK`] marks as bits, the first the lowest: made in vectors, and quick to walk where few are set.
#[inline(always)]
fn bits(marks: impl Iterator<Item = bool>) -> u64 {
    (0..u64::BITS).zip(marks).fold(0, |bits, (at, mark)| bits | (u64::from(mark) << at))
}

/// Positions of the bits that are set, ascending.
#[inline(always)]
fn set(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        next
    })
}
