//! Intervals from Student's t distribution.

use crate::input_error::{InputError, check_parameter};
use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// Bounds of a confidence or prediction interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// Returns true if `value` lies within the interval, bounds included.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Interval of the mean of independent `values`, at the level `confidence`.
    ///
    /// # Errors
    ///
    /// [`InputError`] with fewer than two values, or if `confidence` is not between 0 and 1.
    pub fn of_mean(values: &[f64], confidence: f64) -> Result<Self, InputError> {
        let count = values.len() as f64;
        check_parameter("values", count, count > 1.0, "2 or more")?;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        Ok(Self::around(mean, two_sided_quantile(confidence, count - 1.0)? * error))
    }

    pub(crate) fn around(centre: f64, half_width: f64) -> Self {
        Self { low: centre - half_width, high: centre + half_width }
    }
}

/// The `t` that a Student variable with these degrees of freedom stays within, on both sides, with
/// probability `confidence`.
pub(crate) fn two_sided_quantile(
    confidence: f64,
    degrees_of_freedom: f64,
) -> Result<f64, InputError> {
    let within = confidence > 0.0 && confidence < 1.0;
    check_parameter("confidence", confidence, within, "a number between 0 and 1")?;
    let expected = "1 or more: an interval of a line needs at least 3 points";
    let enough = degrees_of_freedom >= 1.0;
    check_parameter("degrees of freedom", degrees_of_freedom, enough, expected)?;
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom).expect("positive and finite");
    // From the lower tail, where a confidence near 1 keeps its digits.
    let tail = 0.5 - 0.5 * confidence;
    let start = -distribution.inverse_cdf(tail);
    // Two Newton steps on the tail probability: the library's quantile stops at fewer digits.
    Ok((0..2).fold(start, |t, _| t + (distribution.cdf(-t) - tail) / distribution.pdf(t)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To 20 digits by multi-precision root finding on the incomplete beta function.
    #[test]
    fn quantiles_agree_with_the_tables() {
        for (degrees, of_95, of_99) in [
            (1.0, 12.706_204_736_174_705, 63.656_741_162_871_58),
            (2.0, 4.302_652_729_749_464, 9.924_843_200_918_294),
            (3.0, 3.182_446_305_283_709_6, 5.840_909_309_733_357),
            (10.0, 2.228_138_851_986_275, 3.169_272_672_616_951),
            (30.0, 2.042_272_456_301_238, 2.749_995_653_567_225_3),
            (198.0, 1.972_017_477_836_314_7, 2.600_887_277_990_511),
        ] {
            for (confidence, expected) in [(0.95, of_95), (0.99, of_99)] {
                let quantile = two_sided_quantile(confidence, degrees).unwrap();
                assert!(
                    (quantile / expected - 1.0).abs() < 1e-12,
                    "{degrees}: {quantile} vs {expected}"
                );
            }
        }
    }

    /// t(0.975; 3) = 3.182446305 (tables); the deviation of 1, 2, 3, 4 is 1.290994449.
    #[test]
    fn the_interval_of_a_mean_is_that_of_the_tables() {
        let interval = Interval::of_mean(&[1.0, 2.0, 3.0, 4.0], 0.95).unwrap();
        let half = 3.182_446_305 * 1.290_994_449 / 2.0;
        assert!(
            (interval.low - 2.5 + half).abs() < 1e-8 && (interval.high - 2.5 - half).abs() < 1e-8
        );
        let error = Interval::of_mean(&[1.0], 0.95).unwrap_err().to_string();
        assert!(error.contains("`values` is 1; expected 2 or more"), "{error}");
    }
}
