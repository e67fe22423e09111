//! Bounds on the covariances of neighbouring tokens: most need not be looked at a second time.

use std::iter::zip;

use entropy_core::TokenCentre;
use pulp::NullaryFnOnce;

use crate::{ExactSum, Real};

/// Tokens that are bounded together, a power of two.
pub(super) const TOGETHER: usize = 256;
/// Numbers among which the extremes are found one by one.
const LANES: usize = 16;
/// Tokens whose sums and extents are taken together, while they are in the nearest cache.
const BLOCK: usize = 8 * TOGETHER;

/// Between what the columns of some neighbouring tokens lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent<R> {
    advantage: Ends<R>,
    log_prob: Ends<R>,
}

/// Least and largest number of some.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ends<R> {
    least: R,
    largest: R,
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

    /// Whether a token here has the covariance that bounds all: the advantage is the same throughout, as in a sequence.
    fn is_reached(&self) -> bool {
        self.advantage.least == self.advantage.largest
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

/// Sums of the columns of a run of tokens, advantage and log-probability, and if asked for the extent of each [`TOGETHER`]
/// tokens.
pub(super) fn survey<R: Real>(
    advantage: &[R],
    log_prob: &[R],
    bounded: bool,
) -> (ExactSum, ExactSum, Vec<Extent<R>>) {
    let (mut advantages, mut log_probs) = (ExactSum::default(), ExactSum::default());
    let mut extents = Vec::with_capacity(advantage.len().div_ceil(TOGETHER));
    for (advantage, log_prob) in zip(advantage.chunks(BLOCK), log_prob.chunks(BLOCK)) {
        advantages.extend(advantage);
        log_probs.extend(log_prob);
        if bounded {
            pulp::Arch::new().dispatch(Measure { advantage, log_prob, extents: &mut extents });
        }
    }
    (advantages, log_probs, extents)
}

/// Adds the extents of some tokens.
struct Measure<'a, R> {
    advantage: &'a [R],
    log_prob: &'a [R],
    extents: &'a mut Vec<Extent<R>>,
}

impl<R: Real> NullaryFnOnce for Measure<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let runs = zip(self.advantage.chunks(TOGETHER), self.log_prob.chunks(TOGETHER));
        for (advantage, log_prob) in runs {
            let alike = advantage.iter().fold(true, |alike, one| alike & (*one == advantage[0]));
            let one = Ends { least: advantage[0], largest: advantage[0] };
            let advantage = if alike { one } else { ends(advantage) };
            self.extents.push(Extent { advantage, log_prob: ends(log_prob) });
        }
    }
}

/// Half against half, which is done in vectors, as going through them in order is not.
#[inline(always)]
fn ends<R: Real>(numbers: &[R]) -> Ends<R> {
    let Some(numbers) = numbers.first_chunk::<TOGETHER>() else {
        let both = numbers.iter().fold((numbers[0], numbers[0]), |(least, largest), &number| {
            (least.lesser(number), largest.greater(number))
        });
        return Ends { least: both.0, largest: both.1 };
    };
    let (mut least, mut largest) = ([R::default(); TOGETHER / 2], [R::default(); TOGETHER / 2]);
    let (first, second) = numbers.split_at(TOGETHER / 2);
    for lane in 0..TOGETHER / 2 {
        least[lane] = first[lane].lesser(second[lane]);
        largest[lane] = first[lane].greater(second[lane]);
    }
    let mut width = TOGETHER / 2;
    while width > LANES {
        width /= 2;
        for lane in 0..width {
            least[lane] = least[lane].lesser(least[lane + width]);
            largest[lane] = largest[lane].greater(largest[lane + width]);
        }
    }
    let mut ends = Ends { least: least[0], largest: largest[0] };
    for lane in 1..LANES {
        ends.least = ends.least.lesser(least[lane]);
        ends.largest = ends.largest.greater(largest[lane]);
    }
    ends
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
        ) {
            let log_prob: Vec<f32> = (0..advantage.len()).map(|i| -f32::from(u16::try_from((i * 7919) % 997).unwrap()) / 200.0).collect();
            let centre = TokenCentre { advantage: mean.0, log_prob: mean.1 };
            let covariance: Vec<f64> = zip(&advantage, &log_prob)
                .map(|(a, l)| centre.covariance(f64::from(*a), f64::from(*l)))
                .collect();
            let (_, sum, extents) = survey(&advantage, &log_prob, true);
            prop_assert_eq!(sum, ExactSum::of(&log_prob));
            prop_assert_eq!(extents.len(), advantage.len().div_ceil(TOGETHER));
            for (extent, own) in zip(&extents, covariance.chunks(TOGETHER)) {
                let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(extent.bound(centre) >= most);
                prop_assert!(!extent.is_reached() || extent.bound(centre) <= most);
            }
            let floor = reached_by(count, &[extents], centre);
            prop_assert!(floor == f64::NEG_INFINITY || covariance.iter().filter(|&&c| c >= floor).count() >= count);
        }
    }
}
