//! No source file imports another that imports it, directly or through others.
//!
//! A file imports the file that defines an item which it names, in a `use` or in a path, through any number of re-exports. To
//! declare a module or to re-export its items is no import, unless the file's own code names them. Tests do not count.

mod imports;
pub(crate) mod source;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::architecture::{root, rust_files};
use imports::Imports;

/// The files that libraries and programs of a folder `src` begin with.
pub(crate) fn roots(src: &Path) -> Vec<PathBuf> {
    let programs = fs::read_dir(src.join("bin")).into_iter().flatten();
    let programs = programs.map(|entry| entry.expect("a readable entry").path());
    let roots = ["lib.rs", "main.rs"].map(|name| src.join(name));
    roots.into_iter().chain(programs).filter(|root| root.is_file()).collect()
}

/// The circles among the files of a folder `src`, each as lines of who imports what of whom.
fn circles(src: &Path) -> Vec<String> {
    let (mut read, mut circles) = (BTreeSet::new(), Vec::new());
    for root in roots(src) {
        let imports = Imports::of(&source::Crate::read(&root));
        circles.extend(imports.circles().iter().map(|circle| imports.described(circle, src)));
        read.extend(imports.files);
    }
    let mut files = Vec::new();
    rust_files(src, &mut files);
    let files: BTreeSet<_> = files.into_iter().collect();
    assert_eq!(read, files, "every file is a module of some root");
    circles
}

#[test]
fn no_file_imports_one_that_imports_it() {
    for entry in fs::read_dir(root().join("crates")).expect("a readable folder") {
        let folder = entry.expect("a readable entry").path();
        let circles = circles(&folder.join("src"));
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name in ASCII");
        assert!(circles.is_empty(), "{name}:\n{}", circles.join("\n"));
    }
}

/// The circles of a crate of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }
    circles(folder.path())
}

#[test]
fn circles_are_found_through_re_exports_globs_and_paths() {
    let face = "mod a; mod b;\npub use a::A; pub use b::B;";
    for (a, b) in [
        ("use super::B; pub struct A(B);", "use crate::A; pub struct B(A);"),
        ("pub struct A(super::B);", "pub enum B { Of(Box<super::a::A>) }"),
        ("use crate::*; pub struct A(B);", "use super::a; pub struct B(a::A);"),
        ("#[serde(with = \"b::of\")] pub struct A; use super::b;", "pub struct B(crate::A);"),
    ] {
        let circles = circles_of(&[("lib.rs", face), ("a.rs", a), ("b.rs", b)]);
        assert_eq!(circles.len(), 1, "{a} {b}");
        assert!(circles[0].contains("a.rs") && circles[0].contains("b.rs"), "{circles:?}");
        assert!(
            !circles[0].contains("lib.rs"),
            "a face that names nothing imports nothing: {circles:?}"
        );
    }
    let parent =
        "mod a; pub(crate) use a::A; pub(crate) fn make() -> A { A::new() } pub struct Own;";
    assert_eq!(circles_of(&[("lib.rs", parent), ("a.rs", "pub struct A(super::Own);")]).len(), 1);
}

#[test]
fn tests_comments_texts_and_other_crates_are_no_imports() {
    let face = "mod a; mod b; #[cfg(test)] mod told;\npub use a::A;";
    let a = "use super::b::B; use serde::A as Other; pub struct A(B, Other);";
    let b = r##"
        //! Like `crate::A`. /* crate::A /* crate::A */ */
        pub struct B<'a>(&'a str, char);
        const TEXT: &str = "crate::A \" crate::A"; const RAW: &str = r#"crate::A " crate::A"#;
        const QUOTE: (char, char) = ('"', '\'');
        #[cfg(test)]
        mod tests { use crate::A; fn of(a: super::super::A) -> bool { matches!(a, A { .. }) } }
    "##;
    let files = [("lib.rs", face), ("a.rs", a), ("b.rs", b), ("told.rs", "use crate::A;")];
    assert_eq!(circles_of(&files), Vec::<String>::new());
}
