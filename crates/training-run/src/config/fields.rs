//! Every field of a configuration, with its default and meaning: the source of `docs/configuration.md`.

mod algorithm;
mod reward_model;
mod rollout;
mod sources;
mod training;

use std::sync::LazyLock;

use super::algorithm_fields::algorithm_fields;
use super::field::Field;

/// Every field: the run's own, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> =
        LazyLock::new(|| own_fields().cloned().chain(algorithm_fields()).collect());
    &FIELDS
}

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
