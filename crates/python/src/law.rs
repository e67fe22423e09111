//! Fits and forecasts of the law of reward and entropy.

use entropy_core::{Interval, PerformanceLaw};
use pyo3::prelude::*;

use crate::column::Column;
use crate::error::value_error;
use crate::repr::{attributes, repr};

/// Default coverage of intervals.
const CONFIDENCE: f64 = 0.95;

/// The law `R = -a exp(H) + b`, fitted by least squares (arXiv:2505.22617, Eq. 6).
///
/// Intervals use Student's t and assume independent residuals. Residuals along a run are correlated, so
/// the true uncertainty is larger. Intervals need three points.
///
/// Attributes
/// ----------
/// a: price of entropy, `dR/dH = -a exp(H)`.
/// b: intercept, reward.
/// ceiling: `b - a`, the reward at entropy 0.
/// points: number of points of the fit.
/// rmse: root of the mean squared residual, reward.
/// r_squared, linear_r_squared: fraction of the variance explained by the law, and by a straight line in
///     the entropy; None for a constant reward. The law is supported only if it explains more.
/// linear_rmse: rmse of the straight line.
/// aic_over_linear: Akaike criterion of the line minus that of the law; a value below 2 is weak evidence;
///     None if both are exact.
/// standard_error_a, standard_error_b: standard errors; None for two points.
#[pyclass(frozen, eq, name = "PerformanceLaw", module = "entropy_rl")]
#[derive(PartialEq)]
pub(crate) struct Law(PerformanceLaw);

attributes! { Law, self: {
    a: f64 = self.0.a;
    b: f64 = self.0.b;
    ceiling: f64 = self.0.ceiling();
    points: usize = self.0.points;
    rmse: f64 = self.0.rmse;
    r_squared: Option<f64> = self.0.r_squared;
    linear_r_squared: Option<f64> = self.0.linear_r_squared;
    linear_rmse: f64 = self.0.linear_rmse;
    aic_over_linear: Option<f64> = self.0.aic_over_linear();
    standard_error_a: Option<f64> = self.0.standard_error_a;
    standard_error_b: Option<f64> = self.0.standard_error_b;
}
    /// Predict the reward at an entropy, in nats.
    fn predict(&self, entropy: f64) -> f64 {
        self.0.predict(entropy)
    }

    /// Confidence interval (low, high) of a.
    #[pyo3(signature = (*, confidence=CONFIDENCE))]
    fn interval_a(&self, confidence: f64) -> PyResult<(f64, f64)> {
        self.0.interval_a(confidence).map(pair).map_err(value_error)
    }

    /// Confidence interval (low, high) of b.
    #[pyo3(signature = (*, confidence=CONFIDENCE))]
    fn interval_b(&self, confidence: f64) -> PyResult<(f64, f64)> {
        self.0.interval_b(confidence).map(pair).map_err(value_error)
    }

    /// Confidence interval (low, high) of the ceiling.
    #[pyo3(signature = (*, confidence=CONFIDENCE))]
    fn interval_ceiling(&self, confidence: f64) -> PyResult<(f64, f64)> {
        self.0.interval_ceiling(confidence).map(pair).map_err(value_error)
    }

    /// Confidence interval (low, high) of the law at an entropy, in nats.
    #[pyo3(signature = (entropy, *, confidence=CONFIDENCE))]
    fn confidence_interval(&self, entropy: f64, confidence: f64) -> PyResult<(f64, f64)> {
        self.0.confidence_interval(entropy, confidence).map(pair).map_err(value_error)
    }

    /// Prediction interval (low, high) for one more reward measured at an entropy, in nats.
    #[pyo3(signature = (entropy, *, confidence=CONFIDENCE))]
    fn prediction_interval(&self, entropy: f64, confidence: f64) -> PyResult<(f64, f64)> {
        self.0.prediction_interval(entropy, confidence).map(pair).map_err(value_error)
    }

    fn __repr__(&self) -> String {
        let PerformanceLaw { a, b, points, rmse, .. } = &self.0;
        format!("PerformanceLaw(a={a}, b={b}, points={points}, rmse={rmse})")
    }
}

fn pair(Interval { low, high }: Interval) -> (f64, f64) {
    (low, high)
}

/// Fit the law to the points of one run.
///
/// entropy: [points], nats.
/// reward: [points], such as held-out accuracy.
///
/// Raises ValueError for fewer than two points, a value that is not finite, or a constant entropy.
#[pyfunction]
pub(crate) fn fit_law(entropy: Column<'_>, reward: Column<'_>) -> PyResult<Law> {
    let (entropy, reward) = (entropy.points("entropy")?, reward.points("reward")?);
    PerformanceLaw::fit(&entropy, &reward).map(Law).map_err(value_error)
}

/// Law fitted to the first points of a run and compared with the rest.
///
/// Attributes
/// ----------
/// law: PerformanceLaw of the first points.
/// fitted: number of these points.
/// rmse_rest, linear_rmse_rest, persistence_rmse_rest: root mean squared error on the rest, of the law, of
///     a straight line in the entropy and of the reward of the last fitted point, reward.
/// skill_over_line, skill_over_persistence: one minus the law's error over theirs; below 0 it is worse.
/// gain_left: reward of the last point minus that of the last fitted one.
/// final_error: forecast minus measured reward of the last point.
/// bias: final_error over gain_left.
/// final_interval: prediction interval (low, high) of the last point; None for two fitted points.
/// covered: fraction of the rest inside their prediction intervals; None for two fitted points.
#[pyclass(frozen, module = "entropy_rl")]
pub(crate) struct Forecast {
    forecast: entropy_core::Forecast,
    law: Py<Law>,
}

attributes! { Forecast, self: {
    law: &Py<Law> = &self.law;
    fitted: usize = self.forecast.fitted;
    rmse_rest: f64 = self.forecast.rmse_rest;
    linear_rmse_rest: f64 = self.forecast.linear_rmse_rest;
    persistence_rmse_rest: f64 = self.forecast.persistence_rmse_rest;
    skill_over_line: f64 = self.forecast.skill_over_line();
    skill_over_persistence: f64 = self.forecast.skill_over_persistence();
    gain_left: f64 = self.forecast.gain_left;
    final_error: f64 = self.forecast.final_error;
    bias: f64 = self.forecast.bias();
    final_interval: Option<(f64, f64)> = self.forecast.final_interval.map(pair);
    covered: Option<f64> = self.forecast.covered;
}
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf, &[
            "law", "fitted", "rmse_rest", "linear_rmse_rest", "persistence_rmse_rest",
            "gain_left", "final_error", "final_interval", "covered",
        ])
    }
}

/// Fit the law to the first share of a run's points, in training order, and forecast the rest.
///
/// entropy, reward: [points].
/// share: fraction above 0, below 1; rounded to a number of points, at least two. The paper uses 0.15.
/// confidence: level of the prediction intervals.
#[pyfunction]
#[pyo3(signature = (entropy, reward, *, share, confidence=CONFIDENCE))]
pub(crate) fn forecast(
    py: Python<'_>,
    entropy: Column<'_>,
    reward: Column<'_>,
    share: f64,
    confidence: f64,
) -> PyResult<Forecast> {
    let (entropy, reward) = (entropy.points("entropy")?, reward.points("reward")?);
    let forecast = entropy_core::Forecast::from_share(&entropy, &reward, share, confidence);
    let forecast = forecast.map_err(value_error)?;
    let law = Py::new(py, Law(forecast.law.clone()))?;
    Ok(Forecast { forecast, law })
}
