//! The questions of `docs/faq.md` name tests that exist, and none is without one.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::architecture::{root, rust_files};

/// Every function under `#[test]` of every crate, as `crate::module::function`; a module is the name of its file, or of its folder
/// where the file is `main.rs` or `mod.rs`.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    let mut crates: Vec<(String, PathBuf)> =
        vec![("workspace-tests".to_owned(), root().join("tests"))];
    for entry in std::fs::read_dir(root().join("crates")).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        crates.push((name, path));
    }
    for (name, folder) in crates {
        let mut files = Vec::new();
        rust_files(&folder, &mut files);
        for file in files {
            let of_folder = file.ends_with("main.rs") || file.ends_with("mod.rs");
            let named = if of_folder { file.parent() } else { Some(file.as_path()) };
            let module = named.and_then(Path::file_stem).expect("a name").to_string_lossy();
            let source = std::fs::read_to_string(&file).expect("a readable source");
            for function in functions_under_test(&source) {
                tests.insert(format!("{name}::{module}::{function}"));
            }
        }
    }
    tests
}

/// Names after `fn` where the attribute `#[test]` came before, comments and other attributes between them allowed.
fn functions_under_test(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut under_test = false;
    for line in source.lines().map(str::trim_start) {
        if line == "#[test]" {
            under_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            if under_test {
                names.push(rest.split('(').next().unwrap_or_default().to_owned());
            }
            under_test = false;
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            under_test = false;
        }
    }
    names
}

/// Cells of the rows of the table: number of the question, tests that hold its answer.
fn rows(page: &str) -> Vec<[String; 2]> {
    let cells = |line: &str| -> Option<[String; 2]> {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<String> = line.split(" | ").map(|cell| cell.trim().to_owned()).collect();
        let cells: [String; 2] = cells.try_into().ok()?;
        cells[0].parse::<u32>().is_ok().then_some(cells)
    };
    page.lines().filter_map(cells).collect()
}

#[test]
fn every_answer_is_held_by_a_test_that_exists_or_is_said_to_be_open() {
    let page = std::fs::read_to_string(Path::new(&root()).join("docs/faq.md")).unwrap();
    let rows = rows(&page);
    let numbers: Vec<String> = rows.iter().map(|[number, _]| number.clone()).collect();
    assert_eq!(numbers, (1..=27).map(|n| n.to_string()).collect::<Vec<_>>());
    let tests = tests();
    let mut faults = Vec::new();
    for [number, held_by] in &rows {
        let named: Vec<&str> = held_by.split('`').skip(1).step_by(2).collect();
        let unknown = named.iter().filter(|name| !tests.contains(**name));
        faults.extend(unknown.map(|name| format!("row {number}: {name} is no test")));
        if named.is_empty() && !held_by.contains("open, issue ") {
            faults.push(format!("row {number}: nothing holds it, and nothing says so"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
