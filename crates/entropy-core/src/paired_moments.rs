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
