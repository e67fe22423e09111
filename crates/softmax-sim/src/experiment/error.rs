//! Why settings of a run cannot be run.

use thiserror::Error;

/// Why settings of a run cannot be run, naming the setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ExperimentError(pub(crate) String);

/// Checks numbers, each with its name and the least it may be, `f64::MIN` if any will do.
pub(crate) fn check_bounds(
    bounds: impl IntoIterator<Item = (&'static str, f64, f64)>,
) -> Result<(), ExperimentError> {
    for (field, value, least) in bounds {
        if !(value.is_finite() && value >= least) {
            let bound =
                if least > f64::MIN { format!(" of at least {least}") } else { String::new() };
            let text = format!("`{field}` is {value}, expected a finite number{bound}");
            return Err(ExperimentError(text));
        }
    }
    Ok(())
}

/// Checks a share, which lies in `0..=1`.
pub(crate) fn check_share(field: &str, value: f64) -> Result<(), ExperimentError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ExperimentError(format!("`{field}` is {value}, expected 0 to 1")))
}
