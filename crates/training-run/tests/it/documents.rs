//! The printed pages are what the code says of its settings and metrics.

mod algorithm_page;
mod configuration_page;
mod field_lines;
mod metrics_page;

use std::collections::BTreeSet;
use std::path::Path;

use training_run::config::RunConfig;
use training_run::metrics::METRICS;
use workspace_tests::book::compare_page;

use configuration_page::configuration_page;
use metrics_page::metrics_page;

#[test]
fn metrics_page_is_printed_from_the_table() {
    compare_page("metrics.md", &metrics_page());
}

#[test]
fn configuration_page_is_printed_from_the_settings() {
    compare_page("configuration.md", &configuration_page());
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
