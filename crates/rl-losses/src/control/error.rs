//! Errors of a controller.

use thiserror::Error;

use crate::parameter::ParameterError;

/// Why a controller did not take a measurement in; its state is as before.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A measurement is NaN or infinite.
    #[error("measured `{quantity}` is {value}, expected a finite number")]
    NotFinite {
        /// Name of the measurement.
        quantity: &'static str,
        /// The value found.
        value: f64,
    },
    /// A column of measurements has the wrong length.
    #[error("`{quantity}` has {found} entries, expected {expected}")]
    Length {
        /// Name of the measurement.
        quantity: &'static str,
        /// Entries given.
        found: usize,
        /// Entries the controller has.
        expected: usize,
    },
    /// The policy loss does not have this knob.
    #[error("the policy loss has no `{knob}` to move")]
    NoKnob {
        /// Name of the knob in a configuration.
        knob: &'static str,
    },
    /// A setting is out of its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl ControlError {
    pub(crate) fn check_finite(quantity: &'static str, value: f64) -> Result<(), Self> {
        if value.is_finite() { Ok(()) } else { Err(Self::NotFinite { quantity, value }) }
    }
}
