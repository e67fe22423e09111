//! Settings: plain numbers with ranges, checked when read and when used.

use crate::ParameterError;

/// Numbers that configure something, each with its range.
pub(crate) trait Settings {
    /// Whether every number lies in its range.
    fn check(&self) -> Result<(), ParameterError>;
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
                $crate::settings::Settings::check(&settings).map_err(serde::de::Error::custom)?;
                Ok(settings)
            }
        }
    )+};
}

pub(crate) use checked_when_read;
