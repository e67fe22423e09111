//! The documentation points at derivations that exist.

use std::fs;
use std::path::Path;

#[test]
fn every_anchor_named_in_the_source_stands_in_the_theory() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let theory = fs::read_to_string(root.join("../../docs/theory.md")).unwrap();
    let mut named = Vec::new();
    for entry in fs::read_dir(root.join("src")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        let after = source.split("docs/theory.md#").skip(1);
        named.extend(after.map(|rest| {
            rest.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).next().unwrap().to_owned()
        }));
    }
    assert!(named.len() > 8, "only {named:?}");
    for anchor in named {
        assert!(theory.contains(&format!("<a id=\"{anchor}\"></a>")), "no anchor {anchor}");
    }
}
