//! Sources and derivations name each other.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of every source file below a folder.
fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(fs::read_to_string(path).expect("a readable source"));
        }
    }
}

/// Names after each `mark`, up to the first character that is no part of an anchor.
fn names_after(text: &str, mark: &str) -> BTreeSet<String> {
    let name = |rest: &str| {
        rest.chars().take_while(|c| *c == '-' || c.is_ascii_alphanumeric()).collect::<String>()
    };
    text.split(mark).skip(1).map(name).collect()
}

fn anchors() -> BTreeSet<String> {
    let theory = fs::read_to_string(root().join("docs/theory.md")).expect("the theory");
    names_after(&theory, "<a id=\"")
}

/// Anchors named in the sources of one crate, or of all.
fn named_in(wanted: Option<&str>) -> BTreeSet<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("a readable folder") {
        let folder = entry.expect("a readable entry").path();
        if wanted.is_none_or(|name| folder.ends_with(name)) {
            sources(&folder.join("src"), &mut texts);
        }
    }
    let named = texts.iter().flat_map(|text| names_after(text, "docs/theory.md#"));
    // A link put together at run time names no anchor in its source.
    named.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_anchor_named_in_a_source_stands_in_the_theory() {
    let named = named_in(None);
    assert!(named.len() > 8, "only {named:?}");
    let unknown: Vec<_> = named.difference(&anchors()).cloned().collect();
    assert!(unknown.is_empty(), "no anchors {unknown:?}");
}

#[test]
fn every_anchor_of_the_theory_is_named_by_this_crate() {
    let named = named_in(Some("entropy-core"));
    let unused: Vec<_> = anchors().difference(&named).cloned().collect();
    assert!(unused.is_empty(), "no source names {unused:?}");
}

/// Items that the theory names as its code exist in the sources.
#[test]
fn code_named_in_the_theory_exists() {
    let theory = fs::read_to_string(root().join("docs/theory.md")).expect("the theory");
    let mut texts = Vec::new();
    sources(&root().join("crates/entropy-core/src"), &mut texts);
    let mut count = 0;
    for paragraph in theory.split("\n\n").filter(|paragraph| paragraph.starts_with("Code: ")) {
        for path in paragraph.split('`').skip(1).step_by(2) {
            let item = path.rsplit("::").next().expect("a path has an end");
            let declared = |text: &String| {
                ["fn ", "struct ", "enum ", "mod ", "    "].iter().any(|kind| {
                    text.split(&format!("{kind}{item}"))
                        .skip(1)
                        .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                })
            };
            assert!(texts.iter().any(declared), "`{path}` is not declared");
            count += 1;
        }
    }
    assert!(count > 20, "only {count} items");
}
