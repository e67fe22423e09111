//! Settings: plain numbers with ranges, checked when read and when used.

use thiserror::Error;

/// Why a number cannot configure a loss.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// A value lies outside its range, or is NaN.
    #[error("`{field}` is {value}, expected {expected}")]
    OutOfRange {
        /// Name of the field as the configuration spells it.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The range it must lie in.
        expected: &'static str,
    },
    /// A lower bound does not lie below its upper bound.
    #[error("`{low_field}` is {low}, expected less than `{high_field}`, which is {high}")]
    Order {
        /// Name of the lower bound.
        low_field: &'static str,
        /// Its value.
        low: f64,
        /// Name of the upper bound.
        high_field: &'static str,
        /// Its value.
        high: f64,
    },
}

/// Returns `value` if it passes the test `holds`.
pub(crate) fn check(
    field: &'static str,
    value: f64,
    expected: &'static str,
    holds: impl FnOnce(f64) -> bool,
) -> Result<f64, ParameterError> {
    if holds(value) {
        Ok(value)
    } else {
        Err(ParameterError::OutOfRange { field, value, expected })
    }
}

/// A share of the tokens: `0 < value <= 1`.
pub(crate) fn check_fraction(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a fraction above 0 and at most 1", |x| x > 0.0 && x <= 1.0)
}

/// A finite number, `0` or above.
pub(crate) fn check_not_negative(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a finite number, 0 or above", |x| x.is_finite() && x >= 0.0)
}

/// A finite number.
pub(crate) fn check_finite(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a finite number", f64::is_finite)
}

/// A number within `0..=1`.
pub(crate) fn check_unit(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a number within 0..=1", |x| (0.0..=1.0).contains(&x))
}

/// A finite number above `0`.
pub(crate) fn check_positive(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a finite number above 0", |x| x.is_finite() && x > 0.0)
}

/// A weight that no token has less of: `0 < value <= 1`.
pub(crate) fn check_least_weight(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a number above 0 and at most 1", |x| x > 0.0 && x <= 1.0)
}

/// A finite number above `1`.
pub(crate) fn check_above_one(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "a finite number above 1", |x| x.is_finite() && x > 1.0)
}

/// A number within `0..1`.
pub(crate) fn check_below_one(field: &'static str, value: f64) -> Result<f64, ParameterError> {
    check(field, value, "0 or above and below 1", |x| (0.0..1.0).contains(&x))
}

/// A field of settings and its value.
type Named = (&'static str, f64);

/// Checks that `low < high`.
pub(crate) fn check_below(low: Named, high: Named) -> Result<(), ParameterError> {
    if low.1 < high.1 { Ok(()) } else { Err(out_of_order(low, high)) }
}

/// Checks that `low <= high`.
pub(crate) fn check_at_most(low: Named, high: Named) -> Result<(), ParameterError> {
    if low.1 <= high.1 { Ok(()) } else { Err(out_of_order(low, high)) }
}

fn out_of_order((low_field, low): Named, (high_field, high): Named) -> ParameterError {
    ParameterError::Order { low_field, low, high_field, high }
}

/// Bounds `low < high`, the lower 0 or above and the upper above 0.
pub(crate) fn check_band(low: f64, high: f64) -> Result<(), ParameterError> {
    check_not_negative("low", low)?;
    check_positive("high", high)?;
    check_below(("low", low), ("high", high))
}

/// Numbers that configure something, each with its range.
pub(crate) trait Settings {
    /// Checks that every number lies in its range.
    fn check(&self) -> Result<(), ParameterError>;
}

/// Checks settings that are a field of others; an error names a field of theirs.
pub(crate) fn check_within(
    _field: &'static str,
    settings: impl Settings + Copy,
) -> Result<(), ParameterError> {
    settings.check()
}

/// Serialises settings as their fields, and refuses out-of-range numbers as they are read.
///
/// The types derive serde's traits with `remote = "Self"`, which makes inherent functions of them.
macro_rules! checked_when_read {
    ($($settings:ty),+ $(,)?) => {$(
        impl serde::Serialize for $settings {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$settings>::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $settings {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let settings = <$settings>::deserialize(deserializer)?;
                $crate::parameter::Settings::check(&settings).map_err(serde::de::Error::custom)?;
                Ok(settings)
            }
        }
    )+};
}

/// Declares settings: each field with its default and, behind a comma, the check of its range, a function of this file.
///
/// ```text
/// settings! {
///     /// A gate.
///     pub struct Gate {
///         /// Its temperature, above 0.
///         pub temperature: f64 = 1.0, check_positive;
///     }
/// }
/// ```
///
/// A rule of several fields follows the braces: `also |settings| …`. The struct has [`Default`], [`Settings`], a schema and serde's
/// traits: a key that is left out has its default, an unknown one and a number out of range are refused.
///
/// Fields behind `pub struct Gate required` have no default, and the struct none: a key that is left out is refused, or has a
/// default of serde's.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {$(
            $(#[$about:meta])*
            $visibility:vis $field:ident: $kind:ty = $default:expr $(, $range:ident)?;
        )*} $(also $rule:expr)?
    ) => {
        $crate::parameter::settings! {
            $(#[$attribute])*
            #[serde(default)]
            pub struct $name required {
                $($(#[$about])* $visibility $field: $kind $(, $range)?;)*
            } $(also $rule)?
        }

        impl $name {
            /// The defaults, for constants that differ in a few.
            pub const DEFAULT: Self = Self { $($field: $default,)* };
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    };
    (
        $(#[$attribute:meta])*
        pub struct $name:ident required {$(
            $(#[$about:meta])*
            $visibility:vis $field:ident: $kind:ty $(, $range:ident)?;
        )*} $(also $rule:expr)?
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
        #[serde(remote = "Self", deny_unknown_fields)]
        $(#[$attribute])*
        pub struct $name {
            $($(#[$about])* $visibility $field: $kind,)*
        }

        impl $crate::parameter::Settings for $name {
            fn check(&self) -> Result<(), $crate::parameter::ParameterError> {
                $($($crate::parameter::$range(stringify!($field), self.$field)?;)?)*
                $(
                    let rule: fn(&Self) -> Result<(), $crate::parameter::ParameterError> = $rule;
                    rule(self)?;
                )?
                Ok(())
            }
        }

        $crate::parameter::checked_when_read!($name);
    };
}

pub(crate) use {checked_when_read, settings};
