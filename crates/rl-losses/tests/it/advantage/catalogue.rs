//! Every estimator once: its name, where it comes from and its defaults.

use std::collections::BTreeSet;

use rl_losses::{RolloutColumns, estimators};

#[test]
fn a_name_stands_once_and_is_that_of_the_configuration() {
    let names: BTreeSet<&str> = estimators().iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), estimators().len());
    for entry in estimators() {
        let written = serde_json::to_value(entry.default).unwrap();
        let key = written
            .as_str()
            .map(str::to_owned)
            .or_else(|| written.as_object().and_then(|table| table.keys().next().cloned()));
        assert_eq!(key.as_deref(), Some(entry.name));
    }
}

#[test]
fn an_estimator_asks_for_the_column_it_says_and_no_other() {
    let size = 4;
    let columns = RolloutColumns {
        rewards: &[1.0, 0.0, 0.0, 1.0],
        group_sizes: &[size],
        sequence_lengths: &[1, 2, 1, 3],
        ..RolloutColumns::default()
    };
    for entry in estimators() {
        assert!(entry.default.smallest_group() <= size, "{}", entry.name);
        let outcome = entry.default.advantages(&columns);
        match entry.default.required_column() {
            None => assert_eq!(outcome.map(|column| column.len()), Ok(7), "{}", entry.name),
            Some(column) => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(&format!("`{column}`")), "{error}");
                assert!(error.contains(&format!("`{}`", entry.name)), "{error}");
            }
        }
    }
}
