//! A section of a configuration: each field with its default beside it.

/// Defines a struct of settings, of which each may be left out of a file; by `serde` and `schemars` of the crate that calls it.
#[macro_export]
macro_rules! section {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$of_field:meta])* pub $field:ident: $kind:ty = $default:expr,)*
        }
    ) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[derive(schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        $(#[$attribute])*
        pub struct $name {
            $($(#[$of_field])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}
