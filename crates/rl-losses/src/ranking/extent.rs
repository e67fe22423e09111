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
const KEPT_EACH: usize = 4;

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
    pub(super) fn bound(&self, centre: TokenCentre) -> f64 {
        let Self { advantage, log_prob } = self;
        let corner =
            |advantage: R, log_prob: R| centre.covariance(advantage.to_f64(), log_prob.to_f64());
        corner(advantage.least, log_prob.least)
            .max(corner(advantage.least, log_prob.largest))
            .max(corner(advantage.largest, log_prob.least))
            .max(corner(advantage.largest, log_prob.largest))
    }

    /// That of these tokens and others.
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self {
            advantage: self.advantage.and(other.advantage),
            log_prob: self.log_prob.and(other.log_prob),
        }
    }

    /// Whether a token here has the covariance that bounds all: the advantage is the same throughout, as in a sequence.
    fn is_reached(&self) -> bool {
        self.advantage.meet()
    }
}

/// A covariance that at least `count` of the tokens reach, if their extents tell of any.
pub(super) fn reached_by<R: Real>(
    count: usize,
    extents: &[Vec<Extent<R>>],
    centre: TokenCentre,
) -> f64 {
    let reached = extents.iter().flatten().filter(|extent| extent.is_reached());
    let mut bounds: Vec<f64> = reached.map(|extent| extent.bound(centre)).collect();
    if count == 0 || bounds.len() < count {
        return f64::NEG_INFINITY;
    }
    *bounds.select_nth_unstable_by(count - 1, |left, right| right.total_cmp(left)).1
}

/// What one pass over a run of tokens tells.
#[derive(Debug)]
pub(super) struct Survey<R> {
    pub(super) advantage: ExactSum,
    pub(super) log_prob: ExactSum,
    /// Of each so many tokens as were asked for.
    pub(super) extents: Vec<Extent<R>>,
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
        };
        for (index, (advantage, log_prob)) in
            zip(advantage.chunks(RUN), log_prob.chunks(RUN)).enumerate()
        {
            let extent = Extent { advantage: Ends::of(advantage), log_prob: Ends::of(log_prob) };
            found.advantage.extend(advantage, extent.advantage);
            found.log_prob.extend(log_prob, extent.log_prob);
            let Some(span) = span else { continue };
            match found.extents.last_mut() {
                Some(last) if index % (span / RUN) > 0 => *last = last.and(extent),
                _ => found.extents.push(extent),
            }
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
                prop_assert!(!extent.is_reached() || extent.bound(centre) <= most);
            }
            let floor = reached_by(count, &[extents], centre);
            prop_assert!(floor == f64::NEG_INFINITY || covariance.iter().filter(|&&c| c >= floor).count() >= count);
        }
    }

    #[test]
    fn extents_are_as_many_as_tokens_selected_allow() {
        assert_eq!(span(0, 0), 256);
        assert_eq!(span(2048 * 256, 0), 256);
        for (tokens, keep) in [(1_000_000, 200), (4_000_000, 800), (usize::MAX / 2, 1), (77, 77)] {
            assert!(tokens.div_ceil(span(tokens, keep)) <= 2048 + 4 * keep);
        }
    }
}
