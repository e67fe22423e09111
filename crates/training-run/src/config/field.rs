//! Every field of a configuration: its path, default and meaning, read off the types.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use messages::Problem;
use rl_losses::registry;
use toml::{Table, Value};

use super::by_name::feedable;
use super::schema::{self, Range};
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

/// The least that every configuration says.
const LEAST: &str = "name = \"x\"\nmodel.path = \"m\"\ntraining.steps = 1\n";

/// Choices that have fields of their own, in blocks, each beside what every configuration says; with the policy losses and the
/// advantage estimators they hold every field.
const SHAPES: &str = include_str!("shapes.txt");

/// Lists every field: section by section, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut seen = BTreeSet::new();
        let mut fields: Vec<Field> =
            configurations().flat_map(|config| fields_of(&config, &mut seen)).collect();
        let sections: Vec<String> =
            fields.iter().map(|field| section_of(field).to_owned()).collect();
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
    let shapes = SHAPES.split("\n\n").map(str::to_owned);
    shapes.chain(losses).chain(estimators).map(|choice| {
        let data = if choice.starts_with("data") { "" } else { "data.train = \"arithmetic\"\n" };
        toml::from_str(&format!("{LEAST}{data}{choice}")).expect("a choice is a configuration")
    })
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
    let property = schema::find(&path);
    let is_required = property.as_ref().is_some_and(|property| property.is_required);
    let default = (!is_required).then_some(default);
    let meaning = property.and_then(|property| property.description).unwrap_or_default();
    let range = Range::of_field(&path).map(|range| range.words());
    Field { path, default, range, meaning: meaning.replace('\n', " ") }
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
            paths.push(dotted(&section, key));
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

/// The dotted path of `key` in a section, whose own path may be empty.
pub(crate) fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// Every value of a table but tables that hold some, each with its dotted path.
pub(crate) fn leaves(table: &Table) -> Vec<(String, &Value)> {
    fn add<'a>(section: &str, table: &'a Table, leaves: &mut Vec<(String, &'a Value)>) {
        for (key, value) in table {
            match value {
                Value::Table(inner) if !inner.is_empty() => {
                    add(&dotted(section, key), inner, leaves);
                }
                value => leaves.push((dotted(section, key), value)),
            }
        }
    }
    let mut leaves = Vec::new();
    add("", table, &mut leaves);
    leaves
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

/// Lists the numbers outside the range that the attribute of their field gives, in the order of the fields.
pub(super) fn out_of_range(config: &RunConfig) -> Vec<Problem> {
    let table = Table::try_from(config).expect("a configuration is a table");
    let problem = |path: &String| {
        let (number, value) = match value_at(&table, path)? {
            Value::Integer(count) => (*count as f64, count.to_string()),
            Value::Float(number) => (*number, format!("{number:?}")),
            _ => return None,
        };
        let range = Range::of_field(path).filter(|range| !range.contains(number))?;
        Some(Problem { field: path.clone(), value, expected: range.words() })
    };
    fields().iter().filter_map(|field| problem(&field.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dotted paths of all fields of a schema that hold no others.
    fn leaves_of(schema: &serde_json::Value, path: &str) -> Vec<String> {
        let objects = schema::branches(schema).into_iter();
        let fields = objects.filter_map(|branch| branch.get("properties")?.as_object()).flatten();
        let inner: Vec<String> =
            fields.flat_map(|(key, value)| leaves_of(value, &dotted(path, key))).collect();
        if inner.is_empty() { vec![path.to_owned()] } else { inner }
    }

    #[test]
    fn every_field_of_the_schema_is_listed_with_its_meaning() {
        let listed: BTreeSet<&str> = fields().iter().map(|field| field.path.as_str()).collect();
        assert_eq!(listed.len(), fields().len(), "a field is listed twice");
        for field in fields() {
            assert!(field.meaning.ends_with(['.', ')']), "{}: {:?}", field.path, field.meaning);
        }
        // The trainer refuses GAE, which needs a critic.
        let is_refused = |path: &str| path.starts_with("algorithm.advantage.gae.");
        for path in leaves_of(schema::schema(), "").into_iter().map(whole) {
            assert!(listed.contains(path.as_str()) || is_refused(&path), "{path} is not listed");
        }
    }
}
