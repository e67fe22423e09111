//! One pass over tokens for those that rank highest.

use std::{iter::zip, ops::Range};

use entropy_core::{TokenCentre, state_token_covariance};
use pulp::NullaryFnOnce;

use super::{Order, Ranking, extent::Extent};
use crate::{
    Candidate, Candidates, Centering, Column, Real, Semantics, TokenBatch, draw, executor::runs,
};

/// Tokens whose priorities are computed together.
const BLOCK: usize = u64::BITS as usize;
/// Tokens passed over together where none of them ranks.
const STRETCH: usize = 8 * BLOCK;

/// What ranks the tokens of a batch: they are looked through in runs.
pub(super) struct Scan<'a, 'b, R> {
    pub(super) ranking: &'a Ranking,
    pub(super) batch: &'a TokenBatch<'b, R>,
    pub(super) centre: TokenCentre,
    /// Position of the batch's first token in the mini-batch, and seed of the draw.
    pub(super) numbered: (u64, u64),
}

/// What a survey tells of a run of tokens.
#[derive(Clone, Copy)]
pub(super) struct Known<'a, R> {
    /// Of each `span` tokens.
    pub(super) extents: &'a [Extent<R>],
    /// What bounds the covariances of each.
    pub(super) bounds: &'a [f64],
    pub(super) span: usize,
    /// As many tokens as are selected reach this.
    pub(super) floor: f64,
}

/// Which tokens of a run are looked at.
#[derive(Clone, Copy)]
pub(super) enum Among<'a, R> {
    /// All.
    All,
    /// Those of whose neighbourhood the survey does not tell that none of them ranks.
    Known(Known<'a, R>),
    /// Those that drew more than this.
    DrawnAbove(u64),
}

/// One run; a struct for the reason that a piece of an evaluation is one.
struct Run<'a, 'b, R> {
    scan: &'a Scan<'a, 'b, R>,
    tokens: Range<usize>,
    keep: usize,
    among: Among<'a, R>,
}

impl<R: Real> NullaryFnOnce for Run<'_, '_, R> {
    type Output = Candidates;

    #[inline(always)]
    fn call(self) -> Candidates {
        let Self { scan, tokens, keep, among } = self;
        match among {
            Among::All => scan.covariance_first(tokens, keep),
            Among::Known(known) => scan.bounded(tokens, keep, known),
            Among::DrawnAbove(floor) => scan.drawn_first(tokens, keep, floor),
        }
    }
}

impl<R: Real> Scan<'_, '_, R> {
    /// The `keep` best among some of a run of tokens.
    pub(super) fn best(
        &self,
        tokens: Range<usize>,
        keep: usize,
        among: Among<'_, R>,
    ) -> Candidates {
        pulp::Arch::new().dispatch(Run { scan: self, tokens, keep, among })
    }

    /// Looks only at tokens that may reach what others are known to reach.
    #[inline(always)]
    fn bounded(&self, tokens: Range<usize>, keep: usize, known: Known<'_, R>) -> Candidates {
        let mut best = Candidates::new(keep);
        let mut least = best.least().max(known.floor.next_down());
        for ((run, extent), &bound) in
            zip(zip(runs(tokens.len(), known.span), known.extents), known.bounds)
        {
            if bound <= least {
                continue;
            }
            let advantage = extent.one_advantage();
            for block in runs(run.len(), BLOCK) {
                let start = tokens.start + run.start;
                let block = start + block.start..start + block.end;
                let any = match advantage {
                    Some(advantage) => self.any_beyond(advantage, block.clone(), least),
                    None => self.any_above(block.clone(), least),
                };
                if any {
                    self.add_best(&mut best, &mut least, block);
                }
            }
        }
        best
    }

    #[inline(always)]
    fn covariance_first(&self, tokens: Range<usize>, keep: usize) -> Candidates {
        let mut best = Candidates::new(keep);
        let mut least = best.least();
        // Most stretches hold nobody who could be selected: one comparison in vectors tells.
        for stretch in runs(tokens.len(), STRETCH) {
            let stretch = tokens.start + stretch.start..tokens.start + stretch.end;
            if !self.any_above(stretch.clone(), least) {
                continue;
            }
            for block in runs(stretch.len(), BLOCK) {
                let block = stretch.start + block.start..stretch.start + block.end;
                if self.any_above(block.clone(), least) {
                    self.add_best(&mut best, &mut least, block);
                }
            }
        }
        best
    }

    /// Adds the tokens of a block that could be selected.
    #[inline(always)]
    fn add_best(&self, best: &mut Candidates, least: &mut f64, block: Range<usize>) {
        let (start, mut priorities) = (block.start, [0.0; BLOCK]);
        let priorities = &mut priorities[..block.len()];
        self.priorities(block, priorities);
        for index in set(bits(priorities.iter().map(|&priority| priority > *least))) {
            let priority = priorities[index];
            if priority > *least && self.push(best, priority, start + index) {
                *least = best.least();
            }
        }
    }

    /// Draws first and looks at those that drew high: most tokens are not looked at.
    #[inline(always)]
    fn drawn_first(&self, tokens: Range<usize>, keep: usize, floor: u64) -> Candidates {
        let (first, seed) = self.numbered;
        let mut best = Candidates::new(keep);
        let (mut least, mut priority) = (floor as f64, [0.0]);
        let least_first = draw::first_bits_of_those_above(floor);
        for start in tokens.clone().step_by(BLOCK) {
            let drawn = draw::first_bits::<BLOCK>(seed, first + start as u64);
            // Most blocks have nobody who drew high.
            if drawn.iter().fold(0, |most, &drawn| most.max(drawn)) < least_first {
                continue;
            }
            for index in set(bits(drawn.iter().map(|&drawn| drawn >= least_first))) {
                let token = start + index;
                if token >= tokens.end {
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

    /// Adds a token of the batch; says whether the least priority that counts may have risen.
    #[inline(always)]
    fn push(&self, best: &mut Candidates, priority: f64, token: usize) -> bool {
        let candidate = Candidate { priority, token: self.numbered.0 + token as u64 };
        !self.clips_already(token) && best.push(candidate)
    }

    /// Whether a token is left out of the draw, as the surrogate gives it no gradient anyway.
    #[inline(always)]
    fn clips_already(&self, token: usize) -> bool {
        let Order::Draw { base, .. } = self.ranking.by else { return false };
        let log_ratio = self.batch.log_prob()[token] - self.batch.old_log_prob()[token];
        base.clips(log_ratio.exp(), self.batch.advantage()[token])
    }

    /// Whether any token of a run could be selected, given that those of no more priority than `least` cannot.
    #[inline(always)]
    fn any_above(&self, tokens: Range<usize>, least: f64) -> bool {
        match self.ranking.by {
            Order::Covariance(Centering::Batch) => {
                self.any(tokens, |covariance| covariance > least)
            }
            Order::Draw { centering: Centering::Batch, low, high, .. } => {
                self.any(tokens, |covariance| (low <= covariance) & (covariance <= high))
            }
            _ => true,
        }
    }

    /// Whether any token of a run that have one `advantage` has a covariance above `least`.
    #[inline(always)]
    fn any_beyond(&self, advantage: R, tokens: Range<usize>, least: f64) -> bool {
        let advantage = advantage.to_f64();
        let log_prob = &self.batch.log_prob()[tokens];
        log_prob.iter().fold(false, |any, log_prob| {
            any | (self.centre.covariance(advantage, log_prob.to_f64()) > least)
        })
    }

    #[inline(always)]
    fn any(&self, tokens: Range<usize>, holds: impl Fn(f64) -> bool) -> bool {
        let (advantage, log_prob) = (self.batch.advantage(), self.batch.log_prob());
        let columns = zip(&advantage[tokens.clone()], &log_prob[tokens]);
        columns.fold(false, |any, (advantage, log_prob)| {
            any | holds(self.centre.covariance(advantage.to_f64(), log_prob.to_f64()))
        })
    }

    /// What the tokens of a block are ranked by.
    #[inline(always)]
    fn priorities(&self, block: Range<usize>, priorities: &mut [f64]) {
        let at = self.numbered.0 + block.start as u64;
        self.values(block, priorities);
        if let Order::Draw { low, high, .. } = self.ranking.by {
            // In place of each covariance the token's draw, or what nobody can be selected by outside of the band.
            let closed = self.ranking.semantics == Semantics::Paper;
            for (index, priority) in priorities.iter_mut().enumerate() {
                let open = (low < *priority) & (*priority < high);
                let inside = open | (closed & (low <= *priority) & (*priority <= high));
                let drawn = draw::of(self.numbered.1, at + index as u64) as f64;
                *priority = if inside { drawn } else { f64::NEG_INFINITY };
            }
        }
    }

    #[inline(always)]
    fn values(&self, block: Range<usize>, values: &mut [f64]) {
        let advantage = &self.batch.advantage()[block.clone()];
        let log_prob = &self.batch.log_prob()[block.clone()];
        let entropy = self.batch.column(Column::Entropy).map(|column| &column[block]);
        match (self.ranking.by, entropy) {
            (Order::Entropy, Some(entropy)) => {
                for (value, entropy) in zip(values, entropy) {
                    *value = entropy.to_f64();
                }
            }
            (
                Order::Covariance(Centering::State)
                | Order::Draw { centering: Centering::State, .. },
                Some(entropy),
            ) => {
                for (index, value) in values.iter_mut().enumerate() {
                    let (advantage, log_prob) =
                        (advantage[index].to_f64(), log_prob[index].to_f64());
                    *value = state_token_covariance(advantage, log_prob, entropy[index].to_f64());
                }
            }
            // Without the column there is nothing to rank by; `check` has refused the batch before.
            _ => {
                for (index, value) in values.iter_mut().enumerate() {
                    let (advantage, log_prob) =
                        (advantage[index].to_f64(), log_prob[index].to_f64());
                    *value = self.centre.covariance(advantage, log_prob);
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

/// Which bits are set, ascending.
#[inline(always)]
fn set(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        next
    })
}
