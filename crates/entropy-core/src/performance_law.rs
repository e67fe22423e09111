//! The law `R = -a e^H + b` that ties reward to policy entropy along a training run.

use crate::paired_moments::PairedMoments;
use crate::summation::sum;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why entropies and rewards determine no law.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// The columns are not pairs.
    #[error("{entropy} entropies and {reward} rewards; expected one of each per point")]
    Length {
        /// Number of entropies.
        entropy: usize,
        /// Number of rewards.
        reward: usize,
    },
    /// Two coefficients need two points.
    #[error("{found} points; a fit of two coefficients needs at least 2")]
    TooFewPoints {
        /// Number of points.
        found: usize,
    },
    /// A value, or the exponential of an entropy, is not finite.
    #[error("`{column}` is {value} at point {index}; expected a finite number")]
    NotFinite {
        /// `entropy`, `exp(entropy)` or `reward`.
        column: &'static str,
        /// Position of the value.
        index: usize,
        /// The value.
        value: f64,
    },
    /// All entropies are equal, so the slope is undetermined.
    #[error("entropy is {value} at all {points} points; a fit needs two different entropies")]
    ConstantEntropy {
        /// The entropy.
        value: f64,
        /// Number of points.
        points: usize,
    },
}

/// The law `R(H) = -a e^H + b`, fitted by least squares.
///
/// Source: arXiv:2505.22617, Eq. 6; derivation in `docs/theory.md#performance-law`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerformanceLaw {
    /// Price of entropy: `dR/dH = -a e^H`. Positive if reward rises as entropy falls.
    pub a: f64,
    /// Intercept at `e^H = 0`, in reward.
    pub b: f64,
    /// Number of points of the fit.
    pub points: usize,
    /// Root of the mean squared residual, in reward.
    pub rmse: f64,
    /// Share of the variance of the reward that is explained, `1 - SSE / SST`; none if the reward
    /// is constant.
    pub r_squared: Option<f64>,
    /// The same share for the straight line `R = αH + β` on the same points: the exponential form
    /// is only supported where it explains more. None if the reward is constant.
    pub linear_r_squared: Option<f64>,
    /// Standard error of `a`; none for two points.
    pub standard_error_a: Option<f64>,
    /// Standard error of `b`; none for two points.
    pub standard_error_b: Option<f64>,
}

impl PerformanceLaw {
    /// Fits the law to points of one run: `entropy` in nats and `reward`, both `[points]`.
    ///
    /// Ordinary least squares of `R` on `x = e^H`, both centred first.
    ///
    /// # Errors
    ///
    /// [`FitError`] if the columns differ in length, hold fewer than two points or a value that is
    /// not finite, or if the entropy is the same throughout.
    pub fn fit(entropy: &[f64], reward: &[f64]) -> Result<Self, FitError> {
        let exp_entropy = checked(entropy, reward)?;
        let moments = PairedMoments::of(&exp_entropy, reward);
        let points = entropy.len();
        let rounding = 4.0 * f64::EPSILON * moments.mean_x.abs();
        if moments.sum_xx <= points as f64 * rounding * rounding {
            return Err(FitError::ConstantEntropy { value: entropy[0], points });
        }
        let line = Line::through(&exp_entropy, reward, moments);
        let linear = Line::through(entropy, reward, PairedMoments::of(entropy, reward));
        let standard_error = (points > 2)
            .then(|| (line.squared_error / ((points - 2) as f64 * moments.sum_xx)).sqrt());
        Ok(Self {
            a: -line.slope,
            b: line.intercept,
            points,
            rmse: (line.squared_error / points as f64).sqrt(),
            r_squared: line.r_squared,
            linear_r_squared: linear.r_squared,
            standard_error_a: standard_error,
            standard_error_b: standard_error.map(|error| {
                let mean_square = moments.sum_xx / points as f64 + moments.mean_x * moments.mean_x;
                error * mean_square.sqrt()
            }),
        })
    }

    /// Reward that the law predicts at `entropy`, in nats.
    pub fn predict(&self, entropy: f64) -> f64 {
        self.b - self.a * entropy.exp()
    }

    /// Reward when all entropy is spent, `R(0) = b - a`.
    pub fn ceiling(&self) -> f64 {
        self.b - self.a
    }

    /// Root mean squared error on points the law may not have seen, in reward; none of no points.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn rmse_on(&self, entropy: &[f64], reward: &[f64]) -> Option<f64> {
        assert!(
            entropy.len() == reward.len(),
            "{} entropies and {} rewards: expected pairs",
            entropy.len(),
            reward.len()
        );
        let squares = std::iter::zip(entropy, reward).map(|(h, r)| (r - self.predict(*h)).powi(2));
        (!entropy.is_empty()).then(|| (sum(squares) / entropy.len() as f64).sqrt())
    }
}

/// Checks the columns and returns `e^H`.
fn checked(entropy: &[f64], reward: &[f64]) -> Result<Vec<f64>, FitError> {
    if entropy.len() != reward.len() {
        return Err(FitError::Length { entropy: entropy.len(), reward: reward.len() });
    }
    if entropy.len() < 2 {
        return Err(FitError::TooFewPoints { found: entropy.len() });
    }
    let exp_entropy: Vec<f64> = entropy.iter().map(|h| h.exp()).collect();
    let columns = [("entropy", entropy), ("exp(entropy)", &exp_entropy), ("reward", reward)];
    for (column, values) in columns {
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(FitError::NotFinite { column, index, value: values[index] });
        }
    }
    Ok(exp_entropy)
}

/// A least-squares line.
struct Line {
    slope: f64,
    intercept: f64,
    squared_error: f64,
    r_squared: Option<f64>,
}

impl Line {
    fn through(x: &[f64], y: &[f64], moments: PairedMoments) -> Self {
        let slope = moments.sum_xy / moments.sum_xx;
        let residual = |(x, y): (&f64, &f64)| (y - moments.mean_y) - slope * (x - moments.mean_x);
        let squared_error = sum(std::iter::zip(x, y).map(|pair| residual(pair).powi(2)));
        // A constant column leaves only the rounding of its mean behind.
        let rounding = 4.0 * f64::EPSILON * moments.mean_y.abs();
        let varies = moments.sum_yy > y.len() as f64 * rounding * rounding;
        Self {
            slope,
            intercept: moments.mean_y - slope * moments.mean_x,
            squared_error,
            r_squared: varies.then(|| 1.0 - squared_error / moments.sum_yy),
        }
    }
}
