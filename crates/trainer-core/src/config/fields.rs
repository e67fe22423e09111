//! Every field of a configuration, with its default and meaning: the source of `docs/configuration.md`.

/// One field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Dotted path.
    pub path: &'static str,
    /// Its default as TOML; `required` where there is none.
    pub default: &'static str,
    /// What it is, and what is allowed.
    pub meaning: &'static str,
}

const fn field(path: &'static str, default: &'static str, meaning: &'static str) -> Field {
    Field { path, default, meaning }
}

/// The mark of a field without a default.
pub(crate) const REQUIRED: &str = "required";

/// Every field.
pub const FIELDS: &[Field] = &[];

/// `docs/configuration.md`, printed from [`FIELDS`].
pub fn configuration_page() -> String {
    String::new()
}
