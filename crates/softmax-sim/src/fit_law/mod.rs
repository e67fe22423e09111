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
mod table;

pub use figure::figure;
pub use points::{Points, ReadError, RowProblem};

use entropy_core::{FitError, InputError, Interval, PairedMoments, PerformanceLaw};
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
    /// The first part of the run determines none.
    #[error("the first {share} of {points} points: {source}")]
    Prefix {
        /// Share of the points, within `0..1`.
        share: f64,
        /// Points of the run.
        points: usize,
        /// Why.
        source: FitError,
    },
    /// A share that is none.
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

/// The straight line `R = slope · H + intercept` on the same points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StraightLine {
    /// Reward per nat.
    pub slope: f64,
    /// Reward at `H = 0`.
    pub intercept: f64,
    /// Share of the variance explained; none if the reward is constant.
    pub r_squared: Option<f64>,
}

impl StraightLine {
    fn through(points: &Points, law: &PerformanceLaw) -> Self {
        let moments = PairedMoments::of(points.entropy(), points.reward());
        let slope = moments.sum_xy / moments.sum_xx;
        let intercept = moments.mean_y - slope * moments.mean_x;
        Self { slope, intercept, r_squared: law.linear_r_squared }
    }

    /// Reward that the line predicts at `entropy`, in nats.
    pub fn predict(&self, entropy: f64) -> f64 {
        self.intercept + self.slope * entropy
    }

    fn rmse_on(&self, points: &Points) -> f64 {
        let residuals = std::iter::zip(points.entropy(), points.reward());
        let squares: f64 = residuals.map(|(h, r)| (r - self.predict(*h)).powi(2)).sum();
        (squares / points.len() as f64).sqrt()
    }
}

/// What the first points of a run foretell of the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// Share of the points that was asked for.
    pub share: f64,
    /// Points of the fit.
    pub points: usize,
    /// The law of these points.
    pub a: f64,
    /// Its intercept.
    pub b: f64,
    /// Its ceiling, `b - a`.
    pub ceiling: f64,
    /// Root mean squared error on the points after them, in reward.
    pub rmse: f64,
    /// The same for the straight line through the first points.
    pub linear_rmse: f64,
    /// Predicted less actual reward at the last point.
    pub final_error: f64,
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
    /// The straight line: where it explains as much, the exponential form is not supported.
    pub linear: StraightLine,
    /// One per share asked for.
    pub forecasts: Vec<Forecast>,
}

impl LawFit {
    /// Fits all points, and the first of them for each of `shares`.
    ///
    /// # Errors
    ///
    /// [`LawError`] if there are too few points or entropies, or a share is not within `0..1`.
    pub fn of(points: &Points, shares: &[f64]) -> Result<Self, LawError> {
        let law = PerformanceLaw::fit(points.entropy(), points.reward())?;
        let forecast = |share: &f64| forecast(points, *share);
        let forecasts = shares.iter().map(forecast).collect::<Result<_, LawError>>()?;
        // With two points there is no interval.
        let estimate = |value: f64, interval: Result<Interval, InputError>| Estimate {
            value,
            interval: interval.ok().map(|interval| [interval.low, interval.high]),
        };
        Ok(Self {
            points: points.len(),
            a: estimate(law.a, law.interval_a(CONFIDENCE)),
            b: estimate(law.b, law.interval_b(CONFIDENCE)),
            ceiling: estimate(law.ceiling(), law.interval_ceiling(CONFIDENCE)),
            r_squared: law.r_squared,
            rmse: law.rmse,
            linear: StraightLine::through(points, &law),
            forecasts,
        })
    }

    /// Reward that the law predicts at `entropy`, in nats.
    pub fn predict(&self, entropy: f64) -> f64 {
        self.b.value - self.a.value * entropy.exp()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a count"
)]
fn forecast(points: &Points, share: f64) -> Result<Forecast, LawError> {
    if !(share > 0.0 && share < 1.0) {
        return Err(LawError::Share { share });
    }
    let count = (share * points.len() as f64).ceil() as usize;
    let (first, rest) = points.split_at(count);
    let law = PerformanceLaw::fit(first.entropy(), first.reward())
        .map_err(|source| LawError::Prefix { share, points: points.len(), source })?;
    let line = StraightLine::through(&first, &law);
    // Where nothing is left to foretell, there is no error.
    let rmse = law.rmse_on(rest.entropy(), rest.reward()).unwrap_or(0.0);
    let linear_rmse = if rest.is_empty() { 0.0 } else { line.rmse_on(&rest) };
    let (entropy, reward) = points.last().expect("a fit has points");
    Ok(Forecast {
        share,
        points: count,
        a: law.a,
        b: law.b,
        ceiling: law.ceiling(),
        rmse,
        linear_rmse,
        final_error: law.predict(entropy) - reward,
    })
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
        assert_eq!(message(&one, &[]), "1 points; a fit of two coefficients needs at least 2");
        assert_eq!(
            message(&points(0.0), &[0.02]),
            "the first 0.02 of 40 points: 1 points; a fit of two coefficients needs at least 2"
        );
        for share in [0.0, 1.0, -0.5, f64::NAN] {
            let text = message(&points(0.0), &[share]);
            assert!(
                text.ends_with("expected a share of the points, above 0 and below 1"),
                "{text}"
            );
        }
    }
}
