//! Every field of a configuration: its path, default and meaning, read off the types.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rl_losses::registry;
use toml::{Table, Value};

use super::defaults::{SHAPES, shaped};
use super::feedable::feedable;
use super::range::range;
use super::schema;
use super::sections::RunConfig;

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Dotted path.
    pub path: String,
    /// Default as TOML; `None` for a field that must be given.
    pub default: Option<String>,
    /// Values it takes, where its type is not the only limit and `meaning` does not say it.
    pub range: Option<String>,
    /// Meaning and unit: the doc comment of the field.
    pub meaning: String,
}

/// Settings that are one of several shapes: a field as a whole.
const WHOLE: [&str; 6] = ["select", "treatment", "base", "correction", "custom", "by_source"];

/// Lists every field: section by section, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut seen = BTreeSet::new();
        let mut fields: Vec<Field> =
            configurations().flat_map(|config| fields_of(&config, &mut seen)).collect();
        let mut sections: Vec<String> = Vec::new();
        for field in &fields {
            if !sections.iter().any(|section| section == section_of(field)) {
                sections.push(section_of(field).to_owned());
            }
        }
        fields.sort_by_key(|field| sections.iter().position(|name| name == section_of(field)));
        fields
    });
    &FIELDS
}

/// The first name of a field's path; empty for a field of the run itself.
fn section_of(field: &Field) -> &str {
    field.path.split_once('.').map_or("", |(section, _)| section)
}

/// Configurations that together have every field.
fn configurations() -> impl Iterator<Item = RunConfig> {
    let losses =
        registry().iter().map(|method| format!("algorithm.policy_loss = \"{}\"", method.name));
    let estimators = feedable().map(|entry| format!("algorithm.advantage = \"{}\"", entry.name));
    let shapes = SHAPES.into_iter().map(str::to_owned);
    shapes.chain(losses).chain(estimators).map(|choice| shaped(&choice))
}

/// The fields of one configuration that `seen` does not have yet, in the order of their structs.
fn fields_of(config: &RunConfig, seen: &mut BTreeSet<String>) -> Vec<Field> {
    let table = Table::try_from(config).expect("a configuration is a table");
    let text = toml::to_string(config).expect("a configuration is TOML");
    let mut fields = Vec::new();
    for path in paths(&text).into_iter().map(whole) {
        let value = value_at(&table, &path).expect("the path was read off this configuration");
        let is_empty = value.as_table().is_none_or(Table::is_empty);
        let is_whole = path == whole(format!("{path}.x"));
        if (is_empty || is_whole) && seen.insert(path.clone()) {
            fields.push(field(path, value));
        }
    }
    fields
}

fn field(path: String, value: &Value) -> Field {
    let default = match value {
        // `1e-8`, where `toml` would write every zero.
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    };
    let default = (!schema::is_required(&path)).then_some(default);
    let (range, meaning) = (range(&path), schema::meaning(&path));
    Field { path, default, range, meaning }
}

/// Dotted paths of all lines of a TOML text, headers of sections included, in its order.
fn paths(text: &str) -> Vec<String> {
    let mut section = String::new();
    let mut paths = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            header.trim_end_matches(']').clone_into(&mut section);
            paths.push(section.clone());
        } else if let Some((key, _)) = line.split_once(" = ") {
            let is_top = section.is_empty();
            paths.push(if is_top { key.to_owned() } else { format!("{section}.{key}") });
        }
    }
    paths
}

/// Cuts a path within a field of several shapes to that field.
fn whole(path: String) -> String {
    let names: Vec<&str> = path.split('.').collect();
    match names.iter().position(|name| WHOLE.contains(name)) {
        Some(last) => names[..=last].join("."),
        None => path,
    }
}

/// True if `path` leads to something within `outer`.
pub(super) fn inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}

/// The value at a dotted path.
pub(super) fn value_at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((first, rest)) => value_at(table.get(first)?.as_table()?, rest),
        None => table.get(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_schema_is_listed_with_its_meaning() {
        let listed: BTreeSet<&str> = fields().iter().map(|field| field.path.as_str()).collect();
        assert_eq!(listed.len(), fields().len(), "a field is listed twice");
        for field in fields() {
            assert!(field.meaning.ends_with(['.', ')']), "{}: {:?}", field.path, field.meaning);
        }
        // The trainer refuses GAE, which needs a critic.
        let is_refused = |path: &str| path.starts_with("algorithm.advantage.gae.");
        for path in schema::leaves().into_iter().map(whole) {
            assert!(listed.contains(path.as_str()) || is_refused(&path), "{path} is not listed");
        }
    }
}
