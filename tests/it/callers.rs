//! Functions, constants and types have a caller beside tests and benchmarks.
//!
//! An item counts as called if a crate, an example or the Python package uses its name as one uses such an item: a method behind a
//! point, an associated function behind a path. So a common name may hide one without a caller. Imports are no calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{
    architecture::{root, rust_files},
    circles::roots,
    circles::source::{Crate, ITEMS, tokens},
};

/// Items that only tests call, each with its reason.
const ALLOWED: [(&str, &str); 8] = [
    ("Readme", "holds the README as a test"),
    ("LATER", "is part of the source that revisions of findings are made of"),
    ("emulated", "runs the kernels of a GPU on the CPU, for tests of three crates"),
    ("critical_entropy_bonus", "docs/theory.md"),
    ("entropy_at_temperature", "docs/theory.md"),
    ("temperature_of_entropy", "docs/theory.md"),
    ("uncentred_excess", "docs/theory.md"),
    ("uncentred_product", "docs/theory.md"),
];

/// An item of a module, one of a type or trait, and one of these with a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Free,
    Associated,
    Method,
}

/// Names that some code defines and names that it uses.
#[derive(Default)]
struct Names {
    defined: BTreeMap<(String, Kind), PathBuf>,
    used: BTreeSet<(String, Kind)>,
    /// Source of the files that define them.
    text: String,
}

impl Names {
    /// Adds a crate's items, and all that it and its examples use.
    fn add_crate(&mut self, folder: &Path) {
        for root in roots(&folder.join("src")) {
            for module in Crate::read(&root).modules.iter().filter(|module| !module.is_test) {
                for import in &module.imports {
                    let renamed = import.path.last().filter(|item| **item != import.name);
                    self.used.extend(renamed.map(|item| (item.clone(), Kind::Free)));
                }
                self.add_code(&module.code, Some(&module.file));
                self.text += &fs::read_to_string(&module.file).expect("a readable source");
            }
        }
        self.add_uses(&folder.join("examples"));
    }

    /// Adds what the files of a folder use, if there is one.
    fn add_uses(&mut self, folder: &Path) {
        let mut files = Vec::new();
        if folder.is_dir() {
            rust_files(folder, &mut files);
        }
        for file in files {
            let text = fs::read_to_string(file).expect("a readable source");
            let code: Vec<String> = tokens(&text).into_iter().map(str::to_owned).collect();
            self.add_code(&code, None);
        }
    }

    /// Adds what code uses and, if it is of a `file` of ours, its items. Those of a trait that it implements are left out: who
    /// defines the trait calls them.
    fn add_code(&mut self, code: &[String], file: Option<&Path>) {
        // Depth outside the type or trait around, and true if a trait is implemented there.
        let (mut depth, mut around) = (0_usize, None);
        let before =
            |index: usize, back: usize| index.checked_sub(back).map_or("", |place| &code[place]);
        for (index, token) in code.iter().enumerate() {
            let (token, behind) = (token.as_str(), before(index, 1));
            let after = code.get(index + 1).map_or("", String::as_str);
            let is_named = token.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !ITEMS.contains(&token);
            // Generic constants and constant pointers are no items.
            if ITEMS.contains(&behind) && !["<", ",", "*"].contains(&before(index, 2)) && is_named {
                let arguments = code[index..].iter().skip_while(|token| *token != "(");
                let has_receiver = arguments.skip(1).take(3).any(|token| token == "self");
                let around = around.filter(|(outside, _)| depth == outside + 1);
                let associated = if has_receiver { Kind::Method } else { Kind::Associated };
                let kind = around.map_or(Kind::Free, |_| associated);
                if let Some(file) = file.filter(|_| !around.is_some_and(|(_, of_trait)| of_trait)) {
                    self.defined.insert((token.to_owned(), kind), file.to_owned());
                }
                continue;
            }
            match token {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    around = around.filter(|&(outside, _)| outside < depth);
                }
                // `$(impl …)*` repeats one in a macro.
                "impl" | "trait"
                    if ["", "{", "}", ";", "]", "unsafe"].contains(&behind)
                        || (before(index, 2), behind) == ("$", "(") =>
                {
                    let mut header = code[index..].iter().take_while(|token| *token != "{");
                    around = Some((depth, header.any(|token| token == "for")));
                }
                _ => {}
            }
            let used: &[Kind] = match behind {
                "::" => &[Kind::Free, Kind::Associated, Kind::Method],
                "." if before(index, 2) != "." && matches!(after, "(" | "::") => &[Kind::Method],
                "." if before(index, 2) != "." => &[],
                _ => &[Kind::Free],
            };
            self.used.extend(used.iter().map(|&kind| (token.to_owned(), kind)));
        }
    }

    /// Items whose names are not used, nor named in texts: `serde(default = "name")`, `{NAME} of {most:?}`.
    fn uncalled(&self) -> BTreeMap<&str, &Path> {
        let unused = self.defined.iter().filter(|(item, _)| !self.used.contains(item));
        let unused = unused.filter(|((name, _), _)| {
            let in_text = [format!("\"{name}\""), format!("::{name}\""), format!("{{{name}")];
            !in_text.iter().any(|form| self.text.contains(form))
        });
        unused.map(|((name, _), file)| (name.as_str(), file.as_path())).collect()
    }
}

#[test]
fn every_item_has_a_caller_beside_tests() {
    let mut names = Names::default();
    for entry in fs::read_dir(root().join("crates")).expect("a readable folder") {
        let folder = entry.expect("a readable entry").path();
        if folder.ends_with("python") {
            names.add_uses(&folder.join("src"));
        } else {
            names.add_crate(&folder);
        }
    }
    let mut uncalled = names.uncalled();
    for (name, reason) in ALLOWED {
        assert!(uncalled.remove(name).is_some(), "{name} ({reason}) has a caller now");
    }
    assert!(uncalled.is_empty(), "only tests call these, if anything does: {uncalled:#?}");
}
