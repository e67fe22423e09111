//! Losses, estimators and kinds of reward by name: a bare name gives all settings their defaults.

use std::collections::BTreeMap;
use std::fmt;

use question_data::ground_truth::RewardKind;
use rl_losses::{
    AdvantageEstimator, Column, EstimatorEntry, PolicyLoss, estimators, method, registry,
};
use schemars::Schema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, json};

pub(super) fn policy_loss<'de, D: Deserializer<'de>>(from: D) -> Result<PolicyLoss, D::Error> {
    from.deserialize_any(NameOrTable(|name| method(name).map(|method| method.default)))
}

pub(super) fn advantage_estimator<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<AdvantageEstimator, D::Error> {
    from.deserialize_any(NameOrTable(|name| {
        estimators().into_iter().find(|entry| entry.name == name).map(|entry| entry.default)
    }))
}

pub(super) fn reward_kind<'de, D: Deserializer<'de>>(from: D) -> Result<RewardKind, D::Error> {
    from.deserialize_any(NameOrTable(|name| name.parse().ok()))
}

pub(super) fn reward_kinds<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, RewardKind>, D::Error> {
    #[derive(Deserialize)]
    struct Named(#[serde(deserialize_with = "reward_kind")] RewardKind);
    let named = BTreeMap::<String, Named>::deserialize(from)?;
    Ok(named.into_iter().map(|(source, Named(kind))| (source, kind)).collect())
}

/// Lets the schema of a policy loss take the bare name of one.
pub(super) fn or_loss_name(schema: &mut Schema) {
    or_name(schema, registry().iter().map(|method| method.name));
}

/// Lets the schema of an advantage estimator take the bare name of one.
pub(super) fn or_estimator_name(schema: &mut Schema) {
    or_name(schema, feedable().map(|entry| entry.name));
}

/// Lets the schema of a reward kind take the bare name of one.
pub(super) fn or_kind_name(schema: &mut Schema) {
    or_name(schema, ["math", "multiple-choice", "exact-match", "code"]);
}

fn or_name(schema: &mut Schema, names: impl IntoIterator<Item = &'static str>) {
    let names: Vec<&str> = names.into_iter().collect();
    let object = std::mem::take(schema.ensure_object());
    let is_note = |key: &str| key == "description" || key == "default";
    let (notes, choice): (Map<_, _>, Map<_, _>) =
        object.into_iter().partition(|(key, _)| is_note(key));
    schema.insert("anyOf".to_owned(), json!([choice, { "type": "string", "enum": names }]));
    for (key, note) in notes {
        schema.insert(key, note);
    }
}

/// Reads a bare name by the function, which gives its settings their defaults.
struct NameOrTable<T>(fn(&str) -> Option<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NameOrTable<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table of one name and its settings")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        // A name there is none of goes to serde, which lists those there are.
        (self.0)(name).map_or_else(|| T::deserialize(StrDeserializer::new(name)), Ok)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(table))
    }
}

/// Lists the estimators that a trainer can feed.
pub(super) fn feedable() -> impl Iterator<Item = EstimatorEntry> {
    estimators().into_iter().filter(|entry| unfed_column_of_estimator(&entry.default).is_none())
}

/// The column that an estimator needs and the trainer does not have.
pub(super) fn unfed_column_of_estimator(estimator: &AdvantageEstimator) -> Option<&'static str> {
    // The trainer has the column of an implicit reward model, and the policy's own.
    const FED: [&str; 2] = ["process_log_ratio", "squared_scores"];
    estimator.required_column().filter(|column| !FED.contains(column))
}

/// The column that a loss needs and the trainer does not have.
pub(super) fn unfed_column_of_loss(loss: &PolicyLoss, has_reference: bool) -> Option<Column> {
    let unfed = |column: &Column| *column == Column::ReferenceLogProb && !has_reference;
    loss.requirements().into_iter().find(unfed)
}

#[cfg(test)]
mod tests {
    use crate::config::{RunConfig, schema};

    #[test]
    fn every_bare_name_of_the_schema_is_read() {
        let fields = [
            ("AlgorithmSection", "algorithm", "policy_loss"),
            ("AlgorithmSection", "algorithm", "advantage"),
            ("RewardSection", "reward", "kind"),
        ];
        for (definition, section, field) in fields {
            let choices = &schema()["$defs"][definition]["properties"][field]["anyOf"];
            let names = choices[1]["enum"].as_array().expect("a list of names");
            assert!(names.len() > 1, "{field}");
            for name in names {
                let text = format!(
                    "name = \"x\"\nmodel.path = \"m\"\ndata.train = \"arithmetic\"\n\
                     training.steps = 1\n{section}.{field} = {name}"
                );
                let read = toml::from_str::<RunConfig>(&text);
                assert!(read.is_ok(), "{field} = {name}: {read:?}");
            }
        }
    }
}
