//! Every field of a configuration, with its default and meaning: the source of `docs/configuration.md`.

mod algorithm;
mod reward_model;
mod rollout;
mod sources;
mod training;

use std::borrow::Cow;
use std::sync::LazyLock;

use super::algorithm_fields::algorithm_fields;

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

const fn field(path: &'static str, default: &'static str, meaning: &'static str) -> Field {
    Field { path: Cow::Borrowed(path), default: Cow::Borrowed(default), meaning }
}

/// Every field: the run's own, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> =
        LazyLock::new(|| own_fields().cloned().chain(algorithm_fields()).collect());
    &FIELDS
}

/// The mark of a field without a default.
pub(super) const REQUIRED: &str = "required";

/// The fields that are the run's own, section after section.
pub(super) fn own_fields() -> impl Iterator<Item = &'static Field> {
    [
        sources::SOURCES,
        rollout::ROLLOUT,
        algorithm::ALGORITHM,
        reward_model::REWARD_MODEL,
        training::TRAINING,
    ]
    .into_iter()
    .flatten()
}
