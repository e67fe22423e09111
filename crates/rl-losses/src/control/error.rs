//! Errors of a controller.

use thiserror::Error;

use crate::parameter::ParameterError;

/// Why a controller did not take a measurement in; its state is as before.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A measurement is NaN or infinite, or there are too few or too many of them.
    #[error("{0}")]
    Measured(String),
    /// The policy loss does not have the knob of this name.
    #[error("the policy loss has no `{0}` to move")]
    NoKnob(&'static str),
    /// A setting is out of its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl ControlError {
    pub(crate) fn check_finite(quantity: &str, value: f64) -> Result<(), Self> {
        let problem = || format!("measured `{quantity}` is {value}, expected a finite number");
        if value.is_finite() { Ok(()) } else { Err(Self::Measured(problem())) }
    }
}
