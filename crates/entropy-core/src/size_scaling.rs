//! How a coefficient of the law grows with the size of the model.

use crate::input_error::{InputError, check_all_finite, check_length, check_parameter};
use crate::line_fit::LineFit;
use serde::{Deserialize, Serialize};

/// A coefficient `a` or `b` of the law as a line in the logarithm of the size,
/// `y = slope · ln(size) + intercept`.
///
/// Source: arXiv:2505.22617, Section 2.4 and its figure of coefficients against model size;
/// `docs/theory.md#size-scaling`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeScaling {
    /// The line in `ln(size)`.
    pub line: LineFit,
    /// Number of sizes fitted.
    pub points: usize,
}

impl SizeScaling {
    /// Fits `coefficients` against `sizes`, both `[models]`; sizes in any unit (it is in the
    /// intercept).
    ///
    /// # Errors
    ///
    /// [`InputError`] for fewer than two models, a size that is not positive, all sizes equal, or a
    /// coefficient that is not finite.
    pub fn fit(sizes: &[f64], coefficients: &[f64]) -> Result<Self, InputError> {
        check_length("coefficients", coefficients.len(), sizes.len())?;
        let points = sizes.len();
        check_parameter("number of models", points as f64, points >= 2, "at least 2")?;
        for &size in sizes {
            check_size(size)?;
        }
        check_all_finite("coefficients", coefficients)?;
        let log_size: Vec<f64> = sizes.iter().map(|size| size.ln()).collect();
        let expected = "two different sizes, not one throughout";
        let constant = || InputError::Value(format!("`size` is {}; expected {expected}", sizes[0]));
        let line = LineFit::through(&log_size, coefficients).ok_or_else(constant)?;
        Ok(Self { line, points })
    }

    /// The coefficient that the line gives at `size`.
    ///
    /// # Errors
    ///
    /// [`InputError`] if `size` is not positive and finite.
    pub fn predict(&self, size: f64) -> Result<f64, InputError> {
        check_size(size)?;
        Ok(self.line.predict(size.ln()))
    }
}

fn check_size(size: f64) -> Result<(), InputError> {
    check_parameter("size", size, size > 0.0 && size.is_finite(), "a positive number")
}
