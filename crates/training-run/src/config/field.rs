//! One field of a configuration, and rows of a page for several.

use std::borrow::Cow;

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Dotted path.
    pub path: Cow<'static, str>,
    /// Its default as TOML; `required` where there is none.
    pub default: Cow<'static, str>,
    /// What it is, and what is allowed.
    pub meaning: &'static str,
}

/// What is written of a field by hand; its default is read off the code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) path: &'static str,
    pub(super) is_required: bool,
    pub(super) meaning: &'static str,
}

pub(super) const fn field(path: &'static str, meaning: &'static str) -> Row {
    Row { path, is_required: false, meaning }
}

/// A field without a default.
pub(super) const fn required(path: &'static str, meaning: &'static str) -> Row {
    Row { path, is_required: true, meaning }
}

/// The mark of a field without a default.
pub(super) const REQUIRED: &str = "required";

/// Rows of a page.
pub(super) fn table(rows: &[Field]) -> String {
    let mut table = String::from("| field | default | meaning |\n|---|---|---|\n");
    for Field { path, default, meaning } in rows {
        let default =
            if *default == REQUIRED { REQUIRED.to_owned() } else { format!("`{default}`") };
        table.extend(["| `", path, "` | ", &default, " | ", meaning, " |\n"]);
    }
    table
}
