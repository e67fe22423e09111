//! Pages and sources that name each other.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::architecture::{root, rust_files};

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(name)).expect("a readable page")
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(of).expect("a readable folder");
    entries.map(|entry| entry.expect("a readable entry").path()).filter(|p| p.is_dir()).collect()
}

/// Numbers that open a row of a table: `| 12 | …`.
fn row_numbers(page: &str) -> Vec<u32> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect()
}

/// Numbers after "row" or "rows" in a comment that names the page: `rows 3 to 6 of`, `(row 9)`.
fn rows_named(source: &str) -> BTreeSet<u32> {
    if !source.contains("paper-vs-code.md") {
        return BTreeSet::new();
    }
    let words: Vec<&str> =
        source.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut named = BTreeSet::new();
    for (index, _) in words.iter().enumerate().filter(|(_, word)| ["row", "rows"].contains(word)) {
        let after = words[index + 1..].iter();
        let list = after
            .take_while(|word| **word == "to" || **word == "and" || word.parse::<u32>().is_ok());
        named.extend(list.filter_map(|word| word.parse::<u32>().ok()));
    }
    named
}

#[test]
fn rows_that_sources_name_exist() {
    let rows = row_numbers(&page("paper-vs-code.md"));
    let distinct: BTreeSet<u32> = rows.iter().copied().collect();
    assert_eq!(distinct.len(), rows.len(), "a row number is used twice");
    assert_eq!(distinct, (1..=u32::try_from(rows.len()).unwrap()).collect(), "a number is missing");

    let mut sources = Vec::new();
    for folder in folders(&root().join("crates")) {
        rust_files(&folder.join("src"), &mut sources);
    }
    let mut named = BTreeSet::new();
    for source in sources {
        let row_numbers = rows_named(&std::fs::read_to_string(&source).expect("a readable source"));
        let unknown: Vec<_> = row_numbers.difference(&distinct).collect();
        assert!(unknown.is_empty(), "{} names rows {unknown:?}", source.display());
        named.extend(row_numbers);
    }
    assert!(named.contains(&1), "the search finds no reference at all: {named:?}");
}

#[test]
fn tests_that_the_architecture_names_exist() {
    let page = page("architecture.md");
    let mut count = 0;
    for name in page.split('`').filter(|span| span.contains("::")) {
        let Some((module, function)) = name.split_once("::") else { continue };
        let file = root().join("tests/it").join(format!("{module}.rs"));
        let Ok(source) = std::fs::read_to_string(&file) else { continue };
        let test = format!("#[test]\nfn {function}() {{");
        assert!(source.contains(&test), "{name} is no test");
        count += 1;
    }
    let table = page.split("## Invariants").nth(1).expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| ")).count() - 1;
    assert_eq!(count, rows + 1, "every row names its test, the last one two");
}
