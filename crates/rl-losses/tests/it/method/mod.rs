//! Methods of the registry.

mod vespo;

use std::collections::BTreeSet;

use rl_losses::{method, registry};

#[test]
fn a_name_stands_once() {
    let names: BTreeSet<&str> = registry().iter().map(|method| method.name).collect();
    assert_eq!(names.len(), registry().len());
    for entry in registry() {
        assert_eq!(method(entry.name), Some(entry));
        assert_eq!(entry.name, entry.default.name());
    }
}
