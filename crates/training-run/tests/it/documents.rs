//! Printed pages match their tables, and the tables match the fields that the code reads.

use std::collections::BTreeSet;
use std::path::Path;

use rl_losses::{estimators, registry};
use toml::{Table, Value};
use training_run::config::{RunConfig, SHAPES, configuration_page, fields, shaped};
use training_run::metrics::{METRICS, metrics_page};
use workspace_tests::book::compare_page;

/// Configurations that together hold every field: one for each choice with fields of its own, each policy loss and each
/// estimator that a trainer can use.
fn configurations() -> Vec<RunConfig> {
    let fed = |column: &str| column == "process_log_ratio";
    let usable =
        estimators().into_iter().filter(|entry| entry.default.required_column().is_none_or(fed));
    let losses =
        registry().iter().map(|method| format!("algorithm.policy_loss = \"{}\"", method.name));
    let estimators = usable.map(|entry| format!("algorithm.advantage = \"{}\"", entry.name));
    let shapes = SHAPES.into_iter().map(str::to_owned);
    shapes.chain(losses).chain(estimators).map(|choice| shaped(&choice)).collect()
}

/// Dotted paths of all values that are not tables, with their TOML.
fn leaves(table: &Table, prefix: &str, entries: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        // A field with several shapes is listed as one value; other tables list their own fields.
        let inside = format!("{path}.");
        let is_one_value = fields().iter().any(|field| field.path == path)
            && !fields().iter().any(|field| field.path.starts_with(&inside));
        match value {
            Value::Table(inner) if !is_one_value => leaves(inner, &path, entries),
            other => entries.push((path, other.to_string())),
        }
    }
}

fn all_leaves() -> Vec<(String, String)> {
    let mut entries = Vec::new();
    for config in configurations() {
        config.clone().resolve().expect("the defaults of every choice are in range");
        let table = Table::try_from(&config).expect("a configuration is a table");
        leaves(&table, "", &mut entries);
    }
    entries
}

#[test]
fn metrics_page_is_printed_from_the_table() {
    compare_page("metrics.md", &metrics_page());
}

#[test]
fn configuration_page_is_printed_from_the_table() {
    compare_page("configuration.md", &configuration_page());
}

#[test]
fn the_table_of_fields_holds_every_field_and_no_other() {
    let documented: BTreeSet<&str> = fields().iter().map(|field| field.path.as_ref()).collect();
    let leaves = all_leaves();
    let read: BTreeSet<&str> = leaves.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(documented, read);
    assert_eq!(documented.len(), fields().len(), "a field is listed twice");
}

#[test]
fn the_table_of_fields_states_the_defaults_the_code_has() {
    let parse = |text: &str| -> Value {
        let table: Table = toml::from_str(&format!("value = {text}")).expect("a default is TOML");
        table["value"].clone()
    };
    // The first configuration that holds a field says nothing about it.
    let mut seen = BTreeSet::new();
    for (path, value) in all_leaves().into_iter().filter(|(path, _)| seen.insert(path.clone())) {
        let field = fields().iter().find(|field| field.path == path).expect("tested above");
        let skipped = field.default == "required";
        if !skipped {
            assert_eq!(parse(&field.default), parse(&value), "default of {path}");
        }
    }
}

#[test]
fn the_example_of_the_configuration_page_is_one() {
    let page = configuration_page();
    let example = page.split("```toml\n").nth(1).expect("the page has an example");
    let example = example.split("```").next().expect("the example ends");
    let config = RunConfig::parse(example, Path::new("example.toml"), &[]).expect("it parses");
    config.resolve().expect("it is in range");
}

#[test]
fn metric_names_are_unique_and_no_definition_is_empty() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
    assert!(
        METRICS.iter().all(|metric| !metric.unit.is_empty() && metric.definition.ends_with('.'))
    );
}
