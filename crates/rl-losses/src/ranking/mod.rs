//! How tokens are ranked for selection, over any split of the mini-batch.

mod extent;
mod scan;

use std::{iter::zip, ops::Range};

use entropy_core::TokenCentre;
use serde::{Deserialize, Serialize};

use crate::{
    Candidates, Centering, Column, CovarianceControl, ExactSum, Executor, Real, Scope, Select,
    Semantics, Serial, TokenBatch, draw,
    executor::runs,
    plan::{share, truncated},
    ranking::{
        extent::{Extent, bounds as bounds_of, reached_by, span, survey},
        scan::{Among, Known, Scan},
    },
    surrogate::Surrogate,
};

/// What one part of a mini-batch tells the others before any of them can rank its tokens: counts and
/// sums, the same to the last bit in any order and any grouping.
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
}

impl PlanSummary {
    /// Adds another part of the same mini-batch.
    pub fn merge(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.sequences += other.sequences;
        self.advantage.merge(&other.advantage);
        self.log_prob.merge(&other.log_prob);
        self.largest = self.largest.max(other.largest);
    }
}

/// Where tokens of high covariance lie in a batch, piece by piece; none where it is not known.
///
/// Four numbers of the columns' kind for each extent, and as many of those as the tokens selected allow.
#[derive(Debug)]
pub(crate) struct Bounds<R> {
    /// Tokens of an extent.
    span: usize,
    pieces: Vec<Vec<Extent<R>>>,
}

impl<R> Bounds<R> {
    pub(crate) fn none() -> Self {
        Self { span: 0, pieces: Vec::new() }
    }
}

/// A rule that orders tokens and says how many are selected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ranking {
    by: Order,
    fraction: f64,
    scope: Scope,
    semantics: Semantics,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// Highest covariance first.
    Covariance(Centering),
    /// A random order of the tokens in a band that the surrogate does not clip already.
    Draw { centering: Centering, low: f64, high: f64, base: Surrogate },
    /// Highest entropy first.
    Entropy,
}

impl Ranking {
    pub(crate) fn of_covariance(control: CovarianceControl) -> Self {
        let CovarianceControl { fraction, centering, scope, semantics, .. } = control;
        let by = match control.select {
            Select::Top => Order::Covariance(centering),
            Select::Band(band) => {
                let base = control.base.surrogate();
                Order::Draw { centering, low: band.low, high: band.high, base }
            }
        };
        Self { by, fraction, scope, semantics }
    }

    pub(crate) fn of_entropy(fraction: f64, scope: Scope) -> Self {
        Self { by: Order::Entropy, fraction, scope, semantics: Semantics::Exact }
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// The column it reads besides the three.
    pub(crate) fn column(&self) -> Option<Column> {
        match self.by {
            Order::Entropy
            | Order::Covariance(Centering::State)
            | Order::Draw { centering: Centering::State, .. } => Some(Column::Entropy),
            Order::Covariance(Centering::Batch) | Order::Draw { .. } => None,
        }
    }

    /// Whether tokens are drawn at random.
    pub(crate) fn draws(&self) -> bool {
        matches!(self.by, Order::Draw { .. })
    }

    /// Whether the means over the batch are needed.
    pub(crate) fn needs_means(&self) -> bool {
        matches!(
            self.by,
            Order::Covariance(Centering::Batch) | Order::Draw { centering: Centering::Batch, .. }
        )
    }

    /// The same rule with another share.
    pub(crate) fn with_fraction(self, fraction: f64) -> Self {
        Self { fraction, ..self }
    }

    /// How many of `tokens` are selected.
    fn count(&self, tokens: usize) -> usize {
        match (self.semantics, self.by) {
            (Semantics::Exact | Semantics::Verl, _) | (Semantics::Prime, Order::Draw { .. }) => {
                share(self.fraction, tokens)
            }
            (Semantics::Paper, _) => truncated(self.fraction * tokens as f64).min(tokens),
            (Semantics::Prime, _) => {
                // The percentage that the fork's user writes, capped by the number of tokens.
                let percent = (self.fraction * 1e14).round() / 1e12;
                let count = tokens as f64 * percent.min(tokens as f64) / 100.0;
                truncated(count).max(1).min(tokens)
            }
        }
    }

    /// What covariances are centred on, given the whole of the scope.
    fn centre(&self, summary: &PlanSummary) -> TokenCentre {
        let exact = matches!(self.by, Order::Covariance(_))
            || matches!(self.semantics, Semantics::Exact | Semantics::Paper);
        let count = summary.tokens as f64 + if exact { 0.0 } else { 1e-8 };
        let mean = |sum: &ExactSum| if summary.tokens == 0 { 0.0 } else { sum.total() / count };
        TokenCentre { advantage: mean(&summary.advantage), log_prob: mean(&summary.log_prob) }
    }

    /// The tokens of `batch` that may be selected over the whole that `summary` describes; `first` is
    /// the position of the batch's first token in it. `bounds` are what [`survey`](Self::survey) found with as many threads,
    /// or none.
    pub(crate) fn candidates<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        (summary, bounds): (&PlanSummary, &Bounds<R>),
        (first, seed): (u64, u64),
    ) -> Candidates {
        match self.scope {
            Scope::MiniBatch => {
                let (keep, tokens) = (self.count(summary.tokens), 0..batch.len());
                let whole = std::slice::from_ref(&tokens);
                self.ranked(executor, batch, whole, (summary, bounds), keep, (first, seed))
            }
            Scope::MicroBatch => {
                let mut all = Candidates::settled();
                let mut sequence = 0;
                for &count in batch.micro_batches().unwrap_or_default() {
                    let tokens = batch.token_range(sequence..sequence + count);
                    sequence += count;
                    let (summary, bounds) = self.survey(executor, batch, tokens.clone());
                    let (keep, known) = (self.count(summary.tokens), (&summary, &bounds));
                    let whole = std::slice::from_ref(&tokens);
                    all.settle(self.ranked(executor, batch, whole, known, keep, (first, seed)));
                }
                all
            }
        }
    }

    /// Counts of a run of tokens and, if needed, sums; and where tokens of high covariance lie, if that is what ranks them.
    pub(crate) fn survey<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        tokens: Range<usize>,
    ) -> (PlanSummary, Bounds<R>) {
        let mut summary = PlanSummary { tokens: tokens.len(), ..PlanSummary::default() };
        let mut bounds = Bounds::none();
        if self.needs_means() {
            let bounded = matches!(self.by, Order::Covariance(_));
            let span = bounded.then(|| span(tokens.len(), self.count(tokens.len())));
            let parts = executor.map(pieces(tokens.len(), executor), |piece| {
                let piece = tokens.start + piece.start..tokens.start + piece.end;
                survey(&batch.advantage()[piece.clone()], &batch.log_prob()[piece], span)
            });
            for part in parts {
                summary.advantage.merge(&part.advantage);
                summary.log_prob.merge(&part.log_prob);
                if let Some(span) = span {
                    bounds.span = span;
                    bounds.pieces.push(part.extents);
                }
            }
        }
        (summary, bounds)
    }

    /// The share of some runs of tokens together, with covariances centred over all that `summary`
    /// describes.
    pub(crate) fn candidates_among<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        runs: &[Range<usize>],
        summary: &PlanSummary,
        seed: u64,
    ) -> Candidates {
        let keep = self.count(runs.iter().map(Range::len).sum());
        self.ranked(&Serial, batch, runs, (summary, &Bounds::none()), keep, (0, seed))
    }

    /// The `keep` best of some runs of tokens.
    fn ranked<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        runs: &[Range<usize>],
        (summary, bounds): (&PlanSummary, &Bounds<R>),
        keep: usize,
        numbered: (u64, u64),
    ) -> Candidates {
        let centre = self.centre(summary);
        let pieces = || {
            runs.iter().flat_map(|tokens| {
                let inside = pieces(tokens.len(), executor);
                inside.into_iter().map(|piece| tokens.start + piece.start..tokens.start + piece.end)
            })
        };
        let scan = Scan { ranking: self, batch, centre, numbered };
        let best = |jobs: Vec<_>| {
            let parts = executor.map(jobs, |(piece, among)| scan.best(piece, keep, among));
            parts.into_iter().fold(Candidates::new(keep), |mut all, part| {
                all.merge(part);
                all
            })
        };
        let drawn_above = draw::floor(keep, runs.iter().map(Range::len).sum());
        if let Some(floor) = drawn_above.filter(|_| self.draws()) {
            let drawn = best(pieces().map(|piece| (piece, Among::DrawnAbove(floor))).collect());
            // Where too few of those lie in the band, others are selected too.
            if drawn.is_full() {
                return drawn;
            }
        }
        let highest: Vec<_> =
            bounds.pieces.iter().map(|extents| bounds_of(extents, centre)).collect();
        let floor = reached_by(keep, &bounds.pieces, &highest);
        let known = zip(&bounds.pieces, &highest).map(|(extents, highest)| {
            Among::Known(Known { extents, bounds: highest, span: bounds.span, floor })
        });
        best(pieces().zip(known.chain(std::iter::repeat(Among::All))).collect())
    }

    /// Positions of the tokens of a whole mini-batch that may be selected, ascending.
    pub(crate) fn eligible<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Vec<usize> {
        let everyone = Self { fraction: 1.0, ..*self };
        everyone.select(&Serial, batch, 0)
    }

    /// Positions of the selected tokens of a whole mini-batch, ascending.
    pub(crate) fn select<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        seed: u64,
    ) -> Vec<usize> {
        let (summary, bounds) = self.survey(executor, batch, 0..batch.len());
        let candidates = self.candidates(executor, batch, (&summary, &bounds), (0, seed));
        positions(candidates.selected(), 0, batch.len())
    }
}

/// One piece for each thread.
fn pieces(tokens: usize, executor: &impl Executor) -> Vec<Range<usize>> {
    runs(tokens, tokens.div_ceil(executor.threads().max(1))).collect()
}

/// The tokens from `first` on, as positions in a part of `tokens` tokens.
pub(crate) fn positions(selected: Vec<u64>, first: u64, tokens: usize) -> Vec<usize> {
    let inside = selected.into_iter().filter_map(|token| token.checked_sub(first));
    inside.filter_map(|token| usize::try_from(token).ok()).filter(|&token| token < tokens).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ClipCov, ClipRange, CovarianceBand, KlCov, PolicyLoss, TokenColumns};

    proptest! {
        /// Whether enough of those that draw high lie in the band, or too few, or nobody.
        #[test]
        fn the_drawn_are_those_of_the_band_with_the_highest_numbers(
            seed: u64, tokens in 1usize..3000, low in 0.0..0.6f64, fraction in 1e-4..0.02f64,
        ) {
            let column = |salt: u64| -> Vec<f64> {
                let number = |token| draw::of(salt, token) as f64 / 2f64.powi(52) - 1.0;
                (0..tokens as u64).map(number).collect()
            };
            let (log_prob, advantage) = (column(seed ^ 1), column(seed ^ 2));
            let columns =
                TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
            let lengths = [tokens];
            let batch = TokenBatch::new(columns, &lengths).unwrap();
            let band = CovarianceBand::new(low, 1.5).unwrap();
            let clip = ClipRange::new(0.2, 0.2).unwrap();
            let ranking = Ranking::of_covariance(ClipCov::new(fraction, band, clip).unwrap().control());

            let mut expected = ranking.eligible(&batch);
            expected.sort_by_key(|&token| std::cmp::Reverse(draw::of(seed, token as u64)));
            expected.truncate(ranking.count(tokens));
            expected.sort_unstable();
            prop_assert_eq!(ranking.select(&Serial, &batch, seed), expected);
        }

        /// Against a stable sort of all covariances: where the advantage is that of a sequence and where it is a token's own, with
        /// ties, in one piece and in three, with bounds and without.
        #[test]
        fn the_first_are_those_of_the_highest_covariance(
            seed: u64, tokens in 1usize..4000, length in 1usize..900, levels in 2u64..4000, fraction in 1e-4..0.3f64,
        ) {
            struct Three;
            impl Executor for Three {
                fn threads(&self) -> usize {
                    3
                }
                fn map<J: Send, T: Send>(&self, jobs: Vec<J>, work: impl Fn(J) -> T + Send + Sync) -> Vec<T> {
                    jobs.into_iter().map(work).collect()
                }
            }
            let number = |salt: u64, at: usize| (draw::of(seed ^ salt, at as u64) % levels) as f64 / levels as f64;
            let log_prob: Vec<f64> = (0..tokens).map(|at| -number(1, at)).collect();
            let advantage: Vec<f64> = (0..tokens).map(|at| number(2, at / length) - 0.5).collect();
            let columns =
                TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
            let lengths = [tokens];
            let batch = TokenBatch::new(columns, &lengths).unwrap();
            let loss = PolicyLoss::KlCov(KlCov::new(fraction, 1.0).unwrap());
            let ranking = loss.ranking().unwrap();

            let summary = loss.summarise(&Serial, &batch).unwrap();
            let centre = ranking.centre(&summary);
            let mut expected: Vec<usize> = (0..tokens).collect();
            let covariance = |at: usize| centre.covariance(advantage[at], log_prob[at]) + 0.0;
            expected.sort_by(|&a, &b| covariance(b).total_cmp(&covariance(a)));
            expected.truncate(ranking.count(tokens));
            expected.sort_unstable();
            prop_assert_eq!(&ranking.select(&Serial, &batch, 0), &expected);
            prop_assert_eq!(&ranking.select(&Three, &batch, 0), &expected);
            let unbounded = loss.candidates(&Three, &batch, &summary, (0, 0)).unwrap();
            prop_assert_eq!(positions(unbounded.selected(), 0, tokens), expected);
        }
    }
}
