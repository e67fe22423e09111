//! The law `R = -a e^H + b` fitted to the points of a run, with the straight line beside it and
//! forecasts from the first part of the run.
//!
//! ```
//! use softmax_sim::fit_law::{LawFit, Points};
//!
//! let csv = "entropy,reward\n1.2,0.34\n0.8,0.56\nlow,0.6\n0.4,0.70\n0.1,0.78\n";
//! let (points, problems) = Points::read(csv.as_bytes(), "entropy", "reward")?;
//! assert_eq!((points.len(), problems.len()), (4, 1));
//! let fit = LawFit::of(&points, &[0.75])?;
//! assert!((fit.ceiling.value - 0.8).abs() < 0.02);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod figure;
mod points;
mod read_error;
mod rows;
mod table;

pub use figure::figure;
pub use points::Points;
pub use read_error::ReadError;
pub use rows::RowProblem;

use entropy_core::{FitError, InputError, Interval, LineFit, PerformanceLaw};
use serde::Serialize;
use thiserror::Error;

/// Coverage of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum LawError {
    /// The points determine no law.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The first part of the run determines no law.
    #[error("the first {share} of {points} points")]
    Prefix {
        /// Share of the points, within `0..1`.
        share: f64,
        /// Points of the run.
        points: usize,
        /// Why.
        source: FitError,
    },
    /// A share outside `0..1`.
    #[error("prefix {share}; expected a share of the points, above 0 and below 1")]
    Share {
        /// The number given.
        share: f64,
    },
}

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
        let law = PerformanceLaw::fit(points.entropy(), points.reward())?;
        let Some(linear) = LineFit::through(points.entropy(), points.reward()) else {
            let (value, points) = (points.entropy()[0], points.len());
            return Err(FitError::ConstantEntropy { value, points }.into());
        };
        let forecast = |share: &f64| Forecast::of(points, *share);
        let forecasts = shares.iter().map(forecast).collect::<Result<_, LawError>>()?;
        // With two points there is no interval.
        let estimate = |value: f64, interval: Result<Interval, InputError>| Estimate {
            value,
            interval: interval.ok().map(ends),
        };
        Ok(Self {
            points: points.len(),
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
            return Err(LawError::Share { share });
        }
        let (entropy, reward) = (points.entropy(), points.reward());
        let forecast = entropy_core::Forecast::from_share(entropy, reward, share, CONFIDENCE)
            .map_err(|source| LawError::Prefix { share, points: points.len(), source })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn points(noise: f64) -> Points {
        let pairs = (0..40u32).map(|step| {
            let entropy = 1.4 * (-0.1 * f64::from(step)).exp();
            let wobble = noise * f64::from((step * 7919) % 13) / 13.0 - 0.5 * noise;
            (entropy, 0.9 - 0.15 * entropy.exp() + wobble)
        });
        pairs.collect()
    }

    #[test]
    fn an_exact_law_is_found_and_forecast_from_its_beginning() {
        let fit = LawFit::of(&points(0.0), &[0.15]).unwrap();
        assert!((fit.a.value - 0.15).abs() < 1e-12 && (fit.b.value - 0.9).abs() < 1e-12);
        assert!((fit.ceiling.value - 0.75).abs() < 1e-12 && fit.rmse < 1e-12);
        let forecast = &fit.forecasts[0];
        assert_eq!(forecast.points, 6);
        assert!(forecast.rmse < 1e-12 && forecast.final_error.abs() < 1e-12);
        assert!(forecast.linear_rmse > 0.05, "{forecast:?}");
        assert!(fit.linear.r_squared < fit.r_squared);
    }

    /// The ceiling is the intercept of the law in `e^H - 1`, whose standard error needs no formula
    /// but that of an intercept.
    #[test]
    fn the_interval_of_the_ceiling_is_that_of_an_intercept_at_no_entropy() {
        let points = points(0.02);
        let fit = LawFit::of(&points, &[]).unwrap();
        let shifted: Vec<f64> = points.entropy().iter().map(|h| h.exp_m1().ln()).collect();
        let law = PerformanceLaw::fit(&shifted, points.reward()).unwrap();
        let [low, high] = fit.ceiling.interval.unwrap();
        // t(0.975; 38) of the tables.
        let half_width = 2.024_394 * law.standard_error_b.unwrap();
        assert!((law.b - fit.ceiling.value).abs() < 1e-12);
        assert!((0.5 * (high - low) / half_width - 1.0).abs() < 1e-6);
        assert!((low..high).contains(&0.75));
    }

    /// Reward noise of some size shows in the width of the forecast's interval, which holds the last point.
    #[test]
    fn a_forecast_of_noisy_points_comes_with_its_interval() {
        let fit = LawFit::of(&points(0.02), &[0.3]).unwrap();
        let forecast = &fit.forecasts[0];
        let [low, high] = forecast.final_interval.unwrap();
        let last = *points(0.02).reward().last().unwrap();
        assert!(low < last && last < high && high - low > 0.02, "{forecast:?}");
        let middle = 0.5 * (low + high);
        assert!((middle - last - forecast.final_error).abs() < 1e-12, "{forecast:?}");
    }

    #[test]
    fn two_points_have_no_interval() {
        let two: Points = [(1.0, 0.2), (0.5, 0.6)].into_iter().collect();
        assert_eq!(LawFit::of(&two, &[]).unwrap().a.interval, None);
    }

    #[test]
    fn too_few_points_and_shares_that_are_none_are_refused() {
        let message = |points: &Points, shares: &[f64]| {
            LawFit::of(points, shares).map(|_| ()).unwrap_err().to_string()
        };
        let one: Points = [(1.0, 0.2)].into_iter().collect();
        assert_eq!(
            message(&one, &[]),
            "a fit of two coefficients needs at least 2 points, found 1"
        );
        let flat: Points = [(1.0, 0.2), (1.0, 0.3), (0.5, 0.6), (0.2, 0.7)].into_iter().collect();
        let error = LawFit::of(&flat, &[0.5]).unwrap_err();
        assert_eq!(error.to_string(), "the first 0.5 of 4 points");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.starts_with("entropy is 1 at all 2 points"), "{source}");
        for share in [0.0, 1.0, -0.5, f64::NAN] {
            let text = message(&points(0.0), &[share]);
            assert!(
                text.ends_with("expected a share of the points, above 0 and below 1"),
                "{text}"
            );
        }
    }
}
