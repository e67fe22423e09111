//! Settings that are declared with their defaults.

/// Declares settings, each field with its default: a key that is left out has it, an unknown one is refused.
///
/// ```text
/// settings! {
///     /// A gate.
///     pub struct Gate {
///         /// Its temperature.
///         pub temperature: f64 = 1.0;
///     }
/// }
/// ```
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {$(
            $(#[$about:meta])*
            pub $field:ident: $kind:ty = $default:expr;
        )+}
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
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    };
}

pub(crate) use settings;
