//! Forecast of the end of a run from its beginning.

use crate::input_error::{InputError, check_parameter};
use crate::interval::Interval;
use crate::line_fit::LineFit;
use crate::paired_moments::PairedMoments;
use crate::performance_law::{FitError, PerformanceLaw, checked};
use serde::{Deserialize, Serialize};

/// A law fitted to the first points of a run and compared with the rest.
///
/// Source: arXiv:2505.22617, Section 2.4 (fit on the first 15 % of steps); derivation in
/// `docs/theory.md#forecast`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// The law of the first points.
    pub law: PerformanceLaw,
    /// The straight line in the entropy through the same points.
    pub linear: LineFit,
    /// Number of points fitted; the rest is forecast.
    pub fitted: usize,
    /// Root mean squared error of the law on the rest, in reward.
    pub rmse_rest: f64,
    /// Root mean squared error of the straight line on the rest, in reward.
    pub linear_rmse_rest: f64,
    /// Root mean squared error on the rest of the reward of the last point fitted: of a forecast that nothing changes.
    pub persistence_rmse_rest: f64,
    /// Forecast reward of the last point less the measured one.
    pub final_error: f64,
    /// Measured reward of the last point less that of the last point fitted: the gain that was still to come.
    pub gain_left: f64,
    /// Prediction interval for the reward at the entropy of the last point; `None` for two points.
    pub final_interval: Option<Interval>,
    /// Fraction of the rest inside their prediction intervals; `None` for two points.
    pub covered: Option<f64>,
}

impl Forecast {
    /// Fits the first `share` of the points of one run, in order of training: `entropy` in nats and
    /// `reward`, both `[points]`. The share is rounded to a whole number of points, two at least.
    ///
    /// # Errors
    ///
    /// [`FitError`] if the columns or their beginning determine no law, or `share` or `confidence`
    /// is not between 0 and 1, or no points remain.
    pub fn from_share(
        entropy: &[f64],
        reward: &[f64],
        share: f64,
        confidence: f64,
    ) -> Result<Self, FitError> {
        check_parameter("share", share, share > 0.0 && share < 1.0, "a number between 0 and 1")?;
        Self::from_first(entropy, reward, points_of_share(share, entropy.len()), confidence)
    }

    /// Fits the first `fitted` points, and forecasts the rest.
    ///
    /// # Errors
    ///
    /// [`FitError`], for the same reasons as [`from_share`](Self::from_share).
    pub fn from_first(
        entropy: &[f64],
        reward: &[f64],
        fitted: usize,
        confidence: f64,
    ) -> Result<Self, FitError> {
        // The rest is checked too.
        checked(entropy, reward)?;
        let expected = "fewer points than the run has";
        check_parameter("fitted", fitted as f64, fitted < entropy.len(), expected)?;
        let (first_entropy, rest_entropy) = entropy.split_at(fitted);
        let (first_reward, rest_reward) = reward.split_at(fitted);
        let law = PerformanceLaw::fit(first_entropy, first_reward)?;
        let moments = PairedMoments::of(first_entropy, first_reward);
        let linear = LineFit::with_moments(first_entropy, first_reward, moments);
        let last = entropy.len() - 1;
        let now = reward[fitted - 1];
        let squares = rest_reward.iter().map(|reward| (reward - now).powi(2)).sum::<f64>();
        let interval = |entropy: &f64| law.prediction_interval(*entropy, confidence);
        let intervals: Option<Result<Vec<Interval>, InputError>> =
            (fitted > 2).then(|| rest_entropy.iter().map(interval).collect());
        let intervals = intervals.transpose()?;
        let covered = intervals.as_ref().map(|intervals| {
            let within = std::iter::zip(intervals, rest_reward)
                .filter(|(interval, reward)| interval.contains(**reward));
            within.count() as f64 / rest_reward.len() as f64
        });
        Ok(Self {
            rmse_rest: law.rmse_on(rest_entropy, rest_reward).unwrap_or_default(),
            linear_rmse_rest: linear.rmse_on(rest_entropy, rest_reward).unwrap_or_default(),
            persistence_rmse_rest: (squares / rest_reward.len() as f64).sqrt(),
            gain_left: reward[last] - now,
            final_error: law.predict(entropy[last]) - reward[last],
            final_interval: intervals.and_then(|intervals| intervals.last().copied()),
            covered,
            law,
            linear,
            fitted,
        })
    }

    /// Skill over a forecast that nothing changes: 1 is no error, 0 as much error, below 0 more.
    pub fn skill_over_persistence(&self) -> f64 {
        1.0 - self.rmse_rest / self.persistence_rmse_rest
    }

    /// Skill over the straight line through the same points.
    pub fn skill_over_line(&self) -> f64 {
        1.0 - self.rmse_rest / self.linear_rmse_rest
    }

    /// Signed error at the last point over the gain that was still to come: -0.5 promises half of it.
    pub fn bias(&self) -> f64 {
        self.final_error / self.gain_left
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a number of points is within 0..=points"
)]
fn points_of_share(share: f64, points: usize) -> usize {
    ((share * points as f64).round() as usize).max(2)
}
