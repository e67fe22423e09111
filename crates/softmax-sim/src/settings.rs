//! Settings that are declared with their defaults and ranges.

/// Declares settings: each field with its default and, behind a comma, the check of its range, a function of
/// `experiment::error`. A rule of several fields follows the braces: `also |settings| …`. A key that is left out has its
/// default, an unknown one is refused.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {$(
            $(#[$about:meta])*
            pub $field:ident: $kind:ty = $default:expr $(, $range:ident $(($bound:expr))?)?;
        )+} $(also $rule:expr)?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$about])* pub $field: $kind,)+
        }

        impl $name {
            /// The defaults, for constants that differ in a few.
            pub const DEFAULT: Self = Self { $($field: $default,)+ };

            /// Checks that every number lies in its range.
            ///
            /// # Errors
            ///
            /// [`ExperimentError`](crate::experiment::ExperimentError), naming the setting.
            pub fn check(&self) -> Result<(), $crate::experiment::error::ExperimentError> {
                use $crate::experiment::error;
                $($(error::$range(stringify!($field), self.$field as f64 $(, $bound)?)?;)?)+
                $(
                    let rule: fn(&Self) -> Result<(), error::ExperimentError> = $rule;
                    rule(self)?;
                )?
                Ok(())
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    };
}

pub(crate) use settings;
