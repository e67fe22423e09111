//! Bounds on the covariances of neighbouring tokens: most need not be looked at a second time.

use std::iter::zip;

use entropy_core::TokenCentre;
use pulp::NullaryFnOnce;

use crate::{
    ExactSum, Real,
    ends::{Ends, RUN},
};

/// Extents that are kept however few tokens are selected, and for each token selected.
const KEPT: usize = 2048;
const KEPT_EACH: usize = 10;
/// Bounds that are sorted for each token selected.
const SORTED_EACH: usize = 4;

/// How many tokens are bounded together where `keep` of `tokens` are selected: so many that the extents take memory by the
/// tokens selected, whatever the tokens.
pub(super) fn span(tokens: usize, keep: usize) -> usize {
    RUN * tokens.div_ceil(RUN).div_ceil(KEPT + KEPT_EACH * keep).max(1)
}

/// Between what the columns of some neighbouring tokens lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent<R> {
    advantage: Ends<R>,
    log_prob: Ends<R>,
}

impl<R: Real> Extent<R> {
    /// No token here has a larger covariance: rounding keeps the order of differences and of products.
    #[inline(always)]
    fn bound(&self, centre: TokenCentre) -> f64 {
        let Self { advantage, log_prob } = self;
        let corner =
            |advantage: R, log_prob: R| centre.covariance(advantage.to_f64(), log_prob.to_f64());
        corner(advantage.least, log_prob.least)
            .greater(corner(advantage.least, log_prob.largest))
            .greater(corner(advantage.largest, log_prob.least))
            .greater(corner(advantage.largest, log_prob.largest))
    }

    /// That of these tokens and others.
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self {
            advantage: self.advantage.and(other.advantage),
            log_prob: self.log_prob.and(other.log_prob),
        }
    }

    /// The advantage of all tokens here, as in a sequence: one of them has the covariance that bounds all then.
    #[inline(always)]
    pub(super) fn one_advantage(&self) -> Option<R> {
        self.advantage.meet().then_some(self.advantage.least)
    }
}

/// What bounds the covariances of each extent.
pub(super) fn bounds<R: Real>(extents: &[Extent<R>], centre: TokenCentre) -> Vec<f64> {
    pulp::Arch::new().dispatch(Bounding { extents, centre })
}

struct Bounding<'a, R> {
    extents: &'a [Extent<R>],
    centre: TokenCentre,
}

impl<R: Real> NullaryFnOnce for Bounding<'_, R> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call(self) -> Vec<f64> {
        self.extents.iter().map(|extent| extent.bound(self.centre)).collect()
    }
}

/// A covariance that at least `count` of the tokens reach, if their extents and the bounds of those tell of any.
pub(super) fn reached_by<R: Real>(
    count: usize,
    extents: &[Vec<Extent<R>>],
    bounds: &[Vec<f64>],
) -> f64 {
    let reached = || {
        zip(extents.iter().flatten(), bounds.iter().flatten())
            .filter(|(extent, _)| extent.one_advantage().is_some())
            .map(|(_, &bound)| bound)
    };
    let known = reached().count();
    if count == 0 || known < count {
        return f64::NEG_INFINITY;
    }
    // Of some neighbours the best only: hardly less is reached by as many, and few are sorted.
    let neighbours = (known / (SORTED_EACH * count)).max(1);
    let mut best = vec![f64::NEG_INFINITY; known.div_ceil(neighbours)];
    for (at, bound) in reached().enumerate() {
        let best = &mut best[at / neighbours];
        *best = best.greater(bound);
    }
    *best.select_nth_unstable_by(count - 1, |left, right| right.total_cmp(left)).1
}

/// What one pass over a run of tokens tells.
#[derive(Debug)]
pub(super) struct Survey<R> {
    pub(super) advantage: ExactSum,
    pub(super) log_prob: ExactSum,
    /// Of each so many tokens as were asked for.
    pub(super) extents: Vec<Extent<R>>,
    /// Of [`RUN`] tokens, that have been added.
    runs: usize,
}

impl<R: Real> Survey<R> {
    /// Adds up to [`RUN`] tokens.
    #[inline(always)]
    fn add(&mut self, advantage: &[R], log_prob: &[R], span: Option<usize>) {
        let alike = Ends::of_alike(advantage);
        self.advantage.extend(advantage, alike);
        let ends = Ends::of(log_prob);
        self.log_prob.extend(log_prob, ends);
        let extent = Extent { advantage: alike, log_prob: ends };
        let Some(span) = span else { return };
        match self.extents.last_mut() {
            Some(last) if !self.runs.is_multiple_of(span / RUN) => *last = last.and(extent),
            _ => self.extents.push(extent),
        }
        self.runs += 1;
    }
}

/// Sums of the columns of a run of tokens, and if asked for the extent of each `span` tokens, a multiple of [`RUN`].
pub(super) fn survey<R: Real>(advantage: &[R], log_prob: &[R], span: Option<usize>) -> Survey<R> {
    pulp::Arch::new().dispatch(Pass { advantage, log_prob, span })
}

struct Pass<'a, R> {
    advantage: &'a [R],
    log_prob: &'a [R],
    span: Option<usize>,
}

impl<R: Real> NullaryFnOnce for Pass<'_, R> {
    type Output = Survey<R>;

    #[inline(always)]
    fn call(self) -> Survey<R> {
        let Self { advantage, log_prob, span } = self;
        let mut found = Survey {
            advantage: ExactSum::default(),
            log_prob: ExactSum::default(),
            extents: Vec::with_capacity(span.map_or(0, |span| advantage.len().div_ceil(span))),
            runs: 0,
        };
        let ((advantages, last_advantages), (log_probs, last_log_probs)) =
            (advantage.as_chunks::<RUN>(), log_prob.as_chunks::<RUN>());
        // Runs of one known length: how their loops end need not be asked.
        for (advantage, log_prob) in zip(advantages, log_probs) {
            found.add(advantage, log_prob, span);
        }
        if !last_advantages.is_empty() {
            found.add(last_advantages, last_log_probs, span);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against every token of the run.
        #[test]
        fn bounds_hold_and_are_reached(
            advantage in prop_oneof![
                prop::collection::vec(-2.0..2.0f32, 1..900),
                (-2.0..2.0f32, 1usize..900).prop_map(|(same, count)| vec![same; count]),
            ],
            mean in (-1.0..1.0f64, -1.0..0.0f64),
            count in 1usize..5,
            span in (1usize..4).prop_map(|runs| runs * RUN),
        ) {
            let log_prob: Vec<f32> = (0..advantage.len()).map(|i| -f32::from(u16::try_from((i * 7919) % 997).unwrap()) / 200.0).collect();
            let centre = TokenCentre { advantage: mean.0, log_prob: mean.1 };
            let covariance: Vec<f64> = zip(&advantage, &log_prob)
                .map(|(a, l)| centre.covariance(f64::from(*a), f64::from(*l)))
                .collect();
            let found = survey(&advantage, &log_prob, Some(span));
            prop_assert_eq!(found.advantage, ExactSum::of(&advantage));
            prop_assert_eq!(found.log_prob, ExactSum::of(&log_prob));
            let extents = found.extents;
            prop_assert_eq!(extents.len(), advantage.len().div_ceil(span));
            for (extent, own) in zip(&extents, covariance.chunks(span)) {
                let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(extent.bound(centre) >= most);
                prop_assert!(extent.one_advantage().is_none() || extent.bound(centre) <= most);
            }
            let bounds = [bounds(&extents, centre)];
            let floor = reached_by(count, &[extents], &bounds);
            prop_assert!(floor == f64::NEG_INFINITY || covariance.iter().filter(|&&c| c >= floor).count() >= count);
        }
    }

    #[test]
    fn extents_are_as_many_as_tokens_selected_allow() {
        assert_eq!(span(0, 0), 256);
        assert_eq!(span(2048 * 256, 0), 256);
        for (tokens, keep) in [(1_000_000, 200), (4_000_000, 800), (usize::MAX / 2, 1), (77, 77)] {
            assert!(tokens.div_ceil(span(tokens, keep)) <= 2048 + 10 * keep);
        }
    }
}
