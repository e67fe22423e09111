//! The mean of a sample, with its confidence interval.

use entropy_core::Interval;

/// Coverage of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Mean of `values` and its interval by Student's t, at 95 %; the mean alone, twice, for one value.
/// None of no values, or of values that are not finite.
pub(crate) fn mean_interval(values: &[f64]) -> Option<(f64, [f64; 2])> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // One value has no interval.
    let Ok(interval) = Interval::of_mean(values, CONFIDENCE) else {
        return Some((mean, [mean, mean]));
    };
    Some((mean, [interval.low, interval.high]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t(0.975; 3) = 3.182446305 (tables); deviation of 1, 2, 3, 4 is 1.290994449.
    #[test]
    fn interval_of_four_numbers_is_that_of_the_tables() {
        let (mean, [low, high]) = mean_interval(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let half = 3.182_446_305 * 1.290_994_449 / 2.0;
        assert!((mean - 2.5).abs() < 1e-15);
        assert!((high - mean - half).abs() < 1e-6 && (mean - low - half).abs() < 1e-6);
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN]), None);
        assert_eq!(mean_interval(&[3.0]), Some((3.0, [3.0, 3.0])));
    }
}
