//! The law `R = -a e^H + b` that ties reward to policy entropy along a training run.

use crate::input_error::InputError;
use crate::interval::{Interval, two_sided_quantile};
use crate::line_fit::{LineFit, is_constant, rmse};
use crate::paired_moments::PairedMoments;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why entropies and rewards determine no law.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// The columns are not pairs, fewer than the two that two coefficients need, or a value or the exponential of an entropy is
    /// not finite.
    #[error("{0}")]
    Points(String),
    /// A parameter of a forecast or an interval is out of its range.
    #[error(transparent)]
    Input(#[from] InputError),
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
/// Source: arXiv:2505.22617, Eq. 6; derivation in `docs/theory.md#performance-law`. When it
/// is exact: `docs/theory.md#law-exact`.
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
    /// Share explained by the straight line `R = αH + β` on the same points: the exponential form
    /// is only supported where it explains more. `None` if the reward is constant.
    pub linear_r_squared: Option<f64>,
    /// Root of the mean squared residual of that straight line, in reward.
    pub linear_rmse: f64,
    /// Mean of `e^H` over the points.
    pub mean_exp_entropy: f64,
    /// `Σ (e^H - mean)²` over the points.
    pub squares_exp_entropy: f64,
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
        if is_constant(moments.sum_xx, moments.mean_x, points) {
            return Err(FitError::ConstantEntropy { value: entropy[0], points });
        }
        let line = LineFit::with_moments(&exp_entropy, reward, moments);
        let linear = LineFit::with_moments(entropy, reward, PairedMoments::of(entropy, reward));
        let standard_error = (points > 2)
            .then(|| line.rmse * (points as f64 / ((points - 2) as f64 * moments.sum_xx)).sqrt());
        Ok(Self {
            a: 0.0 - line.slope, // of a constant reward 0, not -0
            b: line.intercept,
            points,
            rmse: line.rmse,
            r_squared: line.r_squared,
            linear_r_squared: linear.r_squared,
            linear_rmse: linear.rmse,
            mean_exp_entropy: moments.mean_x,
            squares_exp_entropy: moments.sum_xx,
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

    /// Akaike information criterion of the straight line less that of the law, on the same points:
    /// `2 n ln(linear RMSE / RMSE)`, as both have two coefficients. Positive where the law fits
    /// better; differences below 2 say little. None where both fit exactly.
    ///
    /// Source: Burnham and Anderson, Model Selection and Multimodel Inference, 2002, Section 2.2.
    pub fn aic_over_linear(&self) -> Option<f64> {
        let ratio = self.linear_rmse / self.rmse;
        (!ratio.is_nan()).then(|| 2.0 * self.points as f64 * ratio.ln())
    }

    /// Confidence interval of `a`, from Student's t with two degrees of freedom fewer than points.
    ///
    /// All intervals take the residuals as independent and of one variance. Along a run they are
    /// neither, quite: read them as lower bounds of the uncertainty. Derivation:
    /// `docs/theory.md#law-intervals`.
    ///
    /// # Errors
    ///
    /// [`InputError`] for fewer than three points, or a `confidence` not between 0 and 1.
    pub fn interval_a(&self, confidence: f64) -> Result<Interval, InputError> {
        self.interval(self.a, 1.0 / self.squares_exp_entropy, confidence)
    }

    /// Confidence interval of `b`, the reward at `e^H = 0`.
    ///
    /// # Errors
    ///
    /// [`InputError`], for the same reasons as [`interval_a`](Self::interval_a).
    pub fn interval_b(&self, confidence: f64) -> Result<Interval, InputError> {
        self.interval(self.b, self.leverage(0.0), confidence)
    }

    /// Confidence interval of the [ceiling](Self::ceiling), the reward at `e^H = 1`.
    ///
    /// # Errors
    ///
    /// [`InputError`], for the same reasons as [`interval_a`](Self::interval_a).
    pub fn interval_ceiling(&self, confidence: f64) -> Result<Interval, InputError> {
        self.interval(self.ceiling(), self.leverage(1.0), confidence)
    }

    /// Confidence interval of the law itself at `entropy`, in nats.
    ///
    /// # Errors
    ///
    /// [`InputError`], for the same reasons as [`interval_a`](Self::interval_a).
    pub fn confidence_interval(
        &self,
        entropy: f64,
        confidence: f64,
    ) -> Result<Interval, InputError> {
        self.interval(self.predict(entropy), self.leverage(entropy.exp()), confidence)
    }

    /// Prediction interval for one more reward measured at `entropy`, in nats.
    ///
    /// # Errors
    ///
    /// [`InputError`], for the same reasons as [`interval_a`](Self::interval_a).
    pub fn prediction_interval(
        &self,
        entropy: f64,
        confidence: f64,
    ) -> Result<Interval, InputError> {
        self.interval(self.predict(entropy), 1.0 + self.leverage(entropy.exp()), confidence)
    }

    /// Variance of the line at `x = e^H`, in units of that of a residual.
    fn leverage(&self, x: f64) -> f64 {
        1.0 / self.points as f64 + (x - self.mean_exp_entropy).powi(2) / self.squares_exp_entropy
    }

    fn interval(
        &self,
        centre: f64,
        variance: f64,
        confidence: f64,
    ) -> Result<Interval, InputError> {
        let degrees_of_freedom = self.points as f64 - 2.0;
        let quantile = two_sided_quantile(confidence, degrees_of_freedom)?;
        let deviation = self.rmse * (self.points as f64 / degrees_of_freedom).sqrt();
        Ok(Interval::around(centre, quantile * deviation * variance.sqrt()))
    }

    /// Root mean squared error on points the law may not have seen, in reward; `None` for no points.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn rmse_on(&self, entropy: &[f64], reward: &[f64]) -> Option<f64> {
        rmse(entropy, reward, |entropy| self.predict(entropy))
    }
}

/// Checks that the columns are pairs of finite numbers, two at least, and returns `e^H`.
pub(crate) fn checked(entropy: &[f64], reward: &[f64]) -> Result<Vec<f64>, FitError> {
    let wrong = |problem: String| Err(FitError::Points(problem));
    let (points, rewards) = (entropy.len(), reward.len());
    if points != rewards {
        return wrong(format!(
            "{points} entropies and {rewards} rewards; expected one of each per point"
        ));
    }
    if points < 2 {
        return wrong(format!("a fit of two coefficients needs at least 2 points, found {points}"));
    }
    let exp_entropy: Vec<f64> = entropy.iter().map(|h| h.exp()).collect();
    let columns = [("entropy", entropy), ("exp(entropy)", &exp_entropy), ("reward", reward)];
    for (column, values) in columns {
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let value = values[index];
            return wrong(format!(
                "`{column}` is {value} at point {index}; expected a finite number"
            ));
        }
    }
    Ok(exp_entropy)
}
