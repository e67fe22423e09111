//! The law `R = -a e^H + b` fitted to the points of a run, with the straight line beside it and
//! forecasts from the first part of the run.
//!
//! ```
//! use softmax_sim::fit_law::{LawFit, Points};
//!
//! let csv = "entropy,reward\n1.2,0.34\n0.8,0.56\nlow,0.6\n0.4,0.70\n0.1,0.78\n";
//! let (points, problems) = Points::read(csv.as_bytes(), "entropy", "reward")?;
//! assert_eq!((points.entropy.len(), problems.len()), (4, 1));
//! let fit = LawFit::of(&points, &[0.75])?;
//! assert!((fit.ceiling.value - 0.8).abs() < 0.02);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod figure;
mod points;
mod table;

pub use figure::figure;
pub use points::{LawError, Points};

use entropy_core::{FitError, InputError, Interval, LineFit, PerformanceLaw};
use serde::Serialize;

/// Coverage of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Interval by Student's t, at [`CONFIDENCE`]; none for two points. It takes residuals as
    /// independent; along a run they are not quite.
    pub interval: Option<[f64; 2]>,
}

/// Forecast of the rest of a run from its first points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// Share of the points that was asked for.
    pub share: f64,
    /// Points of the fit.
    pub points: usize,
    /// Price of entropy in the law of these points, in reward.
    pub a: f64,
    /// Intercept of that law, in reward.
    pub b: f64,
    /// Ceiling of that law, `b - a`, in reward.
    pub ceiling: f64,
    /// Root mean squared error on the points after them, in reward.
    pub rmse: f64,
    /// Root mean squared error of the straight line through the first points, on the same later points.
    pub linear_rmse: f64,
    /// Predicted less actual reward at the last point.
    pub final_error: f64,
    /// Prediction interval for the reward at the last point, at [`CONFIDENCE`]; none of two points.
    pub final_interval: Option<[f64; 2]>,
    /// Fraction of the points after them inside their prediction intervals; none of two points.
    pub covered: Option<f64>,
    /// Law of the first points.
    #[serde(skip)]
    pub law: PerformanceLaw,
}

/// The law of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LawFit {
    /// Points of the fit.
    pub points: usize,
    /// Price of entropy, in reward.
    pub a: Estimate,
    /// Intercept, in reward.
    pub b: Estimate,
    /// Reward when all entropy is spent, `b - a`.
    pub ceiling: Estimate,
    /// Share of the variance explained; none if the reward is constant.
    pub r_squared: Option<f64>,
    /// Root mean squared error, in reward (a fraction where the reward is one).
    pub rmse: f64,
    /// The straight line `R = slope · H + intercept` on the same points: where it explains as much, the
    /// exponential form is not supported.
    pub linear: LineFit,
    /// One per share asked for.
    pub forecasts: Vec<Forecast>,
    /// The law itself.
    #[serde(skip)]
    pub law: PerformanceLaw,
}

impl LawFit {
    /// Fits all points, and the first of them for each of `shares`.
    ///
    /// # Errors
    ///
    /// [`LawError`] if there are too few points or entropies, or a share is not within `0..1`.
    pub fn of(points: &Points, shares: &[f64]) -> Result<Self, LawError> {
        let refused = |error: FitError| LawError(error.to_string());
        let law = PerformanceLaw::fit(&points.entropy, &points.reward).map_err(refused)?;
        let linear = LineFit::through(&points.entropy, &points.reward).ok_or_else(|| {
            let (value, points) = (points.entropy[0], points.entropy.len());
            refused(FitError::ConstantEntropy { value, points })
        })?;
        let forecast = |share: &f64| Forecast::of(points, *share);
        let forecasts = shares.iter().map(forecast).collect::<Result<_, LawError>>()?;
        // With two points there is no interval.
        let estimate = |value: f64, interval: Result<Interval, InputError>| Estimate {
            value,
            interval: interval.ok().map(ends),
        };
        Ok(Self {
            points: points.entropy.len(),
            a: estimate(law.a, law.interval_a(CONFIDENCE)),
            b: estimate(law.b, law.interval_b(CONFIDENCE)),
            ceiling: estimate(law.ceiling(), law.interval_ceiling(CONFIDENCE)),
            r_squared: law.r_squared,
            rmse: law.rmse,
            linear,
            forecasts,
            law,
        })
    }
}

impl Forecast {
    fn of(points: &Points, share: f64) -> Result<Self, LawError> {
        if !(share > 0.0 && share < 1.0) {
            let expected = "expected a share of the points, above 0 and below 1";
            return Err(LawError(format!("prefix {share}; {expected}")));
        }
        let (entropy, reward) = (&points.entropy, &points.reward);
        let forecast = entropy_core::Forecast::from_share(entropy, reward, share, CONFIDENCE)
            .map_err(|error| {
                LawError(format!("the first {share} of {} points: {error}", entropy.len()))
            })?;
        Ok(Self {
            share,
            points: forecast.fitted,
            a: forecast.law.a,
            b: forecast.law.b,
            ceiling: forecast.law.ceiling(),
            rmse: forecast.rmse_rest,
            linear_rmse: forecast.linear_rmse_rest,
            final_error: forecast.final_error,
            final_interval: forecast.final_interval.map(ends),
            covered: forecast.covered,
            law: forecast.law,
        })
    }
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}
