//! The printed pages are what their tables say, and the tables are what the code reads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use trainer_core::config::{FIELDS, RunConfig, configuration_page};
use trainer_core::metrics::{METRICS, metrics_page};

const REQUIRED: &str = "name = \"x\"\nmodel = { path = \"m\" }\ntraining = { steps = 1 }\n";

/// One configuration for each choice, so that together they hold every field.
const CHOICES: [&str; 4] = [
    "data = { train = { arithmetic = {} }, evaluation = { arithmetic = {} } }",
    "data = { train = { file = { path = \"f\" } }, evaluation = { file = { path = \"f\" } } }
     algorithm = { policy_loss = { clip-cov = {} } }",
    "data = { train = { arithmetic = {} } }
     algorithm = { policy_loss = { kl-cov = {} } }",
    "data = { train = { arithmetic = {} } }
     algorithm = { aggregation = { seq-mean-token-sum-norm = { divisor = 7.0 } } }",
];

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn compare(name: &str, printed: &str) {
    let path = page(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, printed).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the page is there");
    assert!(found == printed, "docs/{name} is out of date: UPDATE_DOCS=1 rewrites it");
}

/// Dotted paths of all values that are not tables, with their TOML.
fn leaves(table: &Table, prefix: &str, found: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => leaves(inner, &path, found),
            other => found.push((path, other.to_string())),
        }
    }
}

fn all_leaves() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for choice in CHOICES {
        let config: RunConfig =
            toml::from_str(&format!("{REQUIRED}{choice}")).expect("the choice is a configuration");
        let table = Table::try_from(&config).expect("a configuration is a table");
        leaves(&table, "", &mut found);
    }
    found
}

#[test]
fn metrics_page_is_printed_from_the_table() {
    compare("metrics.md", &metrics_page());
}

#[test]
fn configuration_page_is_printed_from_the_table() {
    compare("configuration.md", &configuration_page());
}

#[test]
fn the_table_of_fields_holds_every_field_and_no_other() {
    let documented: BTreeSet<&str> = FIELDS.iter().map(|field| field.path).collect();
    let leaves = all_leaves();
    let read: BTreeSet<&str> = leaves.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(documented, read);
    assert_eq!(documented.len(), FIELDS.len(), "a field is listed twice");
}

#[test]
fn the_table_of_fields_states_the_defaults_the_code_has() {
    let parse = |text: &str| -> Value {
        let table: Table = toml::from_str(&format!("value = {text}")).expect("a default is TOML");
        table["value"].clone()
    };
    for (path, value) in all_leaves() {
        let field = FIELDS.iter().find(|field| field.path == path).expect("tested above");
        let skipped = field.default == "required";
        if !skipped {
            assert_eq!(parse(field.default), parse(&value), "default of {path}");
        }
    }
}

#[test]
fn the_example_of_the_configuration_page_is_one() {
    let page = configuration_page();
    let example = page.split("```toml\n").nth(1).expect("the page has an example");
    let example = example.split("```").next().expect("the example ends");
    let config = RunConfig::parse(example, Path::new("example.toml"), &[]).expect("it parses");
    config.resolve(Path::new("configs")).expect("it is in range");
}

#[test]
fn metric_names_are_unique_and_no_definition_is_empty() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
    assert!(
        METRICS.iter().all(|metric| !metric.unit.is_empty() && metric.definition.ends_with('.'))
    );
}
