//! Every field of a configuration, with its default and meaning: the source of `docs/configuration.md`.

mod algorithm;
mod reward_model;
mod rollout;
mod sources;
mod training;

use std::sync::LazyLock;

use super::algorithm_fields::algorithm_fields;
use super::defaults::Defaults;
use super::field::{Field, REQUIRED, Row};

/// Every field: the run's own, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> =
        LazyLock::new(|| own_fields().into_iter().chain(algorithm_fields()).collect());
    &FIELDS
}

/// The fields that are the run's own, section after section.
pub(super) fn own_fields() -> Vec<Field> {
    let defaults = Defaults::read();
    let rows = [
        sources::SOURCES,
        rollout::ROLLOUT,
        algorithm::ALGORITHM,
        reward_model::REWARD_MODEL,
        training::TRAINING,
    ];
    let with_default = |&Row { path, is_required, meaning }: &Row| {
        let default = if is_required { REQUIRED.into() } else { defaults.of(path).into() };
        Field { path: path.into(), default, meaning }
    };
    rows.into_iter().flatten().map(with_default).collect()
}
