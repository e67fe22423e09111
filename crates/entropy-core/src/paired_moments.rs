//! Means and co-moments of pairs, mergeable over parts of a batch and over ranks.

use crate::summation::{mean, sum};
use serde::{Deserialize, Serialize};

/// Count, means and centred second moments of pairs `(x, y)`.
///
/// The moments of a batch are [merged](Self::merge) from those of its parts, in any grouping, to
/// rounding. Micro-batches and ranks exchange them instead of their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PairedMoments {
    /// Number of pairs.
    pub count: u64,
    /// Mean of `x`; 0 if there are no pairs.
    pub mean_x: f64,
    /// Mean of `y`; 0 if there are no pairs.
    pub mean_y: f64,
    /// `Σ (x - mean x)²`.
    pub sum_xx: f64,
    /// `Σ (x - mean x)(y - mean y)`.
    pub sum_xy: f64,
    /// `Σ (y - mean y)²`.
    pub sum_yy: f64,
}

impl PairedMoments {
    /// Moments of the pairs of two columns, in two passes.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        assert!(x.len() == y.len(), "{} values of x for {} of y: expected pairs", x.len(), y.len());
        let (mean_x, mean_y) = (mean(x), mean(y));
        let moment = |product: fn(f64, f64) -> f64| {
            sum(std::iter::zip(x, y).map(|(x, y)| product(x - mean_x, y - mean_y)))
        };
        Self {
            count: x.len() as u64,
            mean_x,
            mean_y,
            sum_xx: moment(|x, _| x * x),
            sum_xy: moment(|x, y| x * y),
            sum_yy: moment(|_, y| y * y),
        }
    }

    /// Merges the moments of two sets of pairs (Chan, Golub and `LeVeque` 1979).
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        // An empty side must not touch the other's bits.
        if other.count == 0 {
            return self;
        }
        if self.count == 0 {
            return other;
        }
        let count = self.count + other.count;
        let share = other.count as f64 / count as f64;
        let (delta_x, delta_y) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let weight = self.count as f64 * share;
        Self {
            count,
            mean_x: delta_x.mul_add(share, self.mean_x),
            mean_y: delta_y.mul_add(share, self.mean_y),
            sum_xx: self.sum_xx + other.sum_xx + weight * delta_x * delta_x,
            sum_xy: self.sum_xy + other.sum_xy + weight * delta_x * delta_y,
            sum_yy: self.sum_yy + other.sum_yy + weight * delta_y * delta_y,
        }
    }

    /// Covariance, the co-moment divided by the count; `None` for no pairs.
    pub fn covariance(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_xy / self.count as f64)
    }

    /// Pearson correlation, within `-1..=1`; `None` if a column is constant.
    pub fn correlation(self) -> Option<f64> {
        let scale = self.sum_xx.sqrt() * self.sum_yy.sqrt();
        (scale > 0.0).then(|| (self.sum_xy / scale).clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_of_three_pairs_are_those_done_by_hand() {
        let moments = PairedMoments::of(&[1.0, 2.0, 6.0], &[0.0, 4.0, 5.0]);
        let expected = PairedMoments {
            count: 3,
            mean_x: 3.0,
            mean_y: 3.0,
            sum_xx: 14.0,
            sum_xy: 11.0,
            sum_yy: 14.0,
        };
        assert_eq!(moments, expected);
        assert_eq!(moments.covariance(), Some(11.0 / 3.0));
        let correlation = moments.correlation().expect("neither column is constant");
        assert!((correlation - 11.0 / 14.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_has_no_covariance_and_a_constant_no_correlation() {
        assert_eq!(PairedMoments::default().covariance(), None);
        assert_eq!(PairedMoments::of(&[1.0, 1.0], &[0.0, 1.0]).correlation(), None);
    }

    proptest! {
        /// Any split, empty parts included, merges to the moments of the whole.
        #[test]
        fn merged_parts_equal_the_whole(
            pairs in prop::collection::vec((-50.0..50.0f64, 900.0..1000.0f64), 1..60),
            cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let cuts = (cuts.0.index(x.len() + 1), cuts.1.index(x.len() + 1));
            let (first, second) = (cuts.0.min(cuts.1), cuts.0.max(cuts.1));
            let merged = [0..first, first..second, second..x.len()]
                .into_iter()
                .map(|part| PairedMoments::of(&x[part.clone()], &y[part]))
                .fold(PairedMoments::default(), PairedMoments::merge);
            let all = PairedMoments::of(&x, &y);
            prop_assert_eq!(merged.count, all.count);
            for (merged, expected) in [
                (merged.mean_x, all.mean_x),
                (merged.mean_y, all.mean_y),
                (merged.sum_xx, all.sum_xx),
                (merged.sum_xy, all.sum_xy),
                (merged.sum_yy, all.sum_yy),
            ] {
                prop_assert!((merged - expected).abs() < 1e-8, "{merged} vs {expected}");
            }
        }
    }
}
