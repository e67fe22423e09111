//! A straight line through points, by least squares.

use crate::paired_moments::PairedMoments;
use crate::summation::sum;
use serde::{Deserialize, Serialize};

/// A least-squares line `y = slope · x + intercept`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LineFit {
    /// Rise per unit of `x`.
    pub slope: f64,
    /// Value at `x = 0`.
    pub intercept: f64,
    /// Root of the mean squared residual, in units of `y`.
    pub rmse: f64,
    /// Share of the variance of `y` that is explained; none if `y` is constant.
    pub r_squared: Option<f64>,
}

impl LineFit {
    /// The line through points `(x, y)`; none if there are not two different `x`.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn through(x: &[f64], y: &[f64]) -> Option<Self> {
        let moments = PairedMoments::of(x, y);
        let varies = !is_constant(moments.sum_xx, moments.mean_x, x.len());
        varies.then(|| Self::with_moments(x, y, moments))
    }

    /// The line through points whose `x` are not all equal, from their moments.
    pub(crate) fn with_moments(x: &[f64], y: &[f64], moments: PairedMoments) -> Self {
        let slope = moments.sum_xy / moments.sum_xx;
        let residual = |(x, y): (&f64, &f64)| (y - moments.mean_y) - slope * (x - moments.mean_x);
        let squared_error = sum(std::iter::zip(x, y).map(|pair| residual(pair).powi(2)));
        let varies = !is_constant(moments.sum_yy, moments.mean_y, y.len());
        Self {
            slope,
            intercept: moments.mean_y - slope * moments.mean_x,
            rmse: (squared_error / y.len() as f64).sqrt(),
            r_squared: varies.then(|| 1.0 - squared_error / moments.sum_yy),
        }
    }

    /// The line's value at `x`.
    pub fn predict(&self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }

    /// Root mean squared error of `y` on points the line may not have seen; `None` for no points.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn rmse_on(&self, x: &[f64], y: &[f64]) -> Option<f64> {
        rmse(x, y, |x| self.predict(x))
    }
}

/// Root mean squared error of `y` predicted from `x`; `None` for no points.
///
/// # Panics
///
/// If the columns differ in length.
pub(crate) fn rmse(x: &[f64], y: &[f64], predict: impl Fn(f64) -> f64) -> Option<f64> {
    assert!(x.len() == y.len(), "{} values of x for {} of y: expected pairs", x.len(), y.len());
    let squares = std::iter::zip(x, y).map(|(x, y)| (y - predict(*x)).powi(2));
    (!x.is_empty()).then(|| (sum(squares) / x.len() as f64).sqrt())
}

/// Returns true if the squared deviations of a column are only the rounding of its mean.
pub(crate) fn is_constant(sum_of_squares: f64, mean: f64, points: usize) -> bool {
    let rounding = 4.0 * f64::EPSILON * mean.abs();
    sum_of_squares <= points as f64 * rounding * rounding
}
