//! Which file imports which, by the definitions of what each names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::source::{Crate, Import, Module};

/// Re-exports that a name is followed through, at most.
const MOST_STEPS: usize = 16;

/// The files of a crate, and for each the files that it imports with a path that names something of them.
pub(super) struct Imports {
    pub(super) files: BTreeSet<PathBuf>,
    of: BTreeMap<PathBuf, BTreeMap<PathBuf, String>>,
}

/// Something that a path leads to.
#[derive(Clone, Copy)]
enum Place {
    Module(usize),
    /// An item that this module defines.
    Item(usize),
    /// Another crate.
    Outside,
}

impl Imports {
    pub(super) fn of(modules: &Crate) -> Self {
        let files = modules.modules.iter().map(|module| module.file.clone()).collect();
        let mut imports = Self { files, of: BTreeMap::new() };
        for (index, module) in
            modules.modules.iter().enumerate().filter(|(_, module)| !module.is_test)
        {
            let named = module.imports.iter().filter(|import| !re_exports_child(module, import));
            let named = named.filter(|import| import.name != "*").map(|import| &import.path);
            for path in named.chain(&module.paths) {
                let target = match modules.resolve(index, path, 0) {
                    Some(Place::Item(target)) => target,
                    // A module that only an attribute names further.
                    Some(Place::Module(target)) if module.imports_unused(path) => target,
                    _ => continue,
                };
                let target = &modules.modules[target].file;
                if *target != module.file {
                    let known = imports.of.entry(module.file.clone()).or_default();
                    known.entry(target.clone()).or_insert_with(|| path.join("::"));
                }
            }
        }
        imports
    }

    /// Groups of files that reach each other.
    pub(super) fn circles(&self) -> Vec<Vec<&Path>> {
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            self.of.keys().map(|file| (file.as_path(), self.reached_from(file))).collect();
        let mut circles: Vec<Vec<&Path>> = Vec::new();
        for (file, others) in &reached {
            if others.contains(file) && !circles.iter().flatten().any(|known| known == file) {
                let back = |other: &&&Path| reached.get(*other).is_some_and(|r| r.contains(file));
                circles.push(others.iter().filter(back).copied().collect());
            }
        }
        circles
    }

    fn reached_from(&self, file: &Path) -> BTreeSet<&Path> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
        while let Some(next) = open.pop() {
            for target in self.of.get(next).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(target.as_path()) {
                    open.push(target);
                }
            }
        }
        reached
    }

    /// The imports within a circle, a line each.
    pub(super) fn described(&self, circle: &[&Path], src: &Path) -> String {
        let short = |file: &Path| file.strip_prefix(src).unwrap_or(file).display().to_string();
        let mut lines = Vec::new();
        for file in circle {
            for (target, path) in self.of.get(*file).into_iter().flatten() {
                if circle.contains(&target.as_path()) {
                    lines.push(format!("  {} imports {}: {path}", short(file), short(target)));
                }
            }
        }
        lines.join("\n")
    }
}

/// Returns true if an import re-exports from a child module.
fn re_exports_child(module: &Module, import: &Import) -> bool {
    import.is_public
        && (import.path.first())
            .is_some_and(|head| head == "self" || module.children.contains_key(head))
}

impl Module {
    /// Returns true if this is the path of a private import whose name begins no path in the code.
    fn imports_unused(&self, path: &[String]) -> bool {
        let import = self.imports.iter().find(|import| import.path == path);
        let begins = |import: &Import| self.paths.iter().any(|path| path[0] == import.name);
        import.is_some_and(|import| !import.is_public && !begins(import))
    }
}

impl Crate {
    /// The place that a path leads to from inside a module; none where its first name is none of this crate's.
    fn resolve(&self, module: usize, path: &[String], steps: usize) -> Option<Place> {
        let (head, rest) = path.split_first()?;
        let mut place = match head.as_str() {
            "crate" => Place::Module(0),
            "self" => Place::Module(module),
            "super" => Place::Module(self.modules[module].parent?),
            name => self.named(module, name, steps)?,
        };
        for name in rest {
            let Place::Module(inside) = place else { return Some(place) };
            place = match name.as_str() {
                "super" => Place::Module(self.modules[inside].parent?),
                name => self.named(inside, name, steps).unwrap_or(Place::Item(inside)),
            };
        }
        Some(place)
    }

    /// The place of a name inside a module.
    fn named(&self, module: usize, name: &str, steps: usize) -> Option<Place> {
        if steps > MOST_STEPS {
            return None;
        }
        let here = &self.modules[module];
        if let Some(child) = here.children.get(name) {
            return Some(Place::Module(*child));
        }
        if here.items.contains(name) {
            return Some(Place::Item(module));
        }
        if let Some(import) = here.imports.iter().find(|import| import.name == name) {
            let is_crate = import.path.len() == 1;
            let place = if is_crate { None } else { self.resolve(module, &import.path, steps + 1) };
            return Some(place.unwrap_or(Place::Outside));
        }
        here.imports.iter().filter(|import| import.name == "*").find_map(|glob| {
            match self.resolve(module, &glob.path, steps + 1)? {
                Place::Module(inside) if inside != module => self.named(inside, name, steps + 1),
                _ => None,
            }
        })
    }
}
