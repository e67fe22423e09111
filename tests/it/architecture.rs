//! The invariants of `docs/architecture.md`, read off `cargo metadata` and the sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// Which crates of ours each may import, in the order of the picture in `docs/architecture.md`.
const ARROWS: [(&str, &[&str]); 23] = [
    ("command-pages", &[]),
    ("counter-rng", &[]),
    ("entropy-core", &[]),
    ("entropy-figures", &[]),
    ("entropy-messages", &[]),
    ("torch-ext", &[]),
    ("whole-file", &[]),
    ("reward-math", &["command-pages"]),
    ("rl-losses", &["entropy-core"]),
    ("cpu-products", &["rl-losses", "torch-ext"]),
    (
        "softmax-sim",
        &[
            "command-pages",
            "entropy-core",
            "entropy-figures",
            "entropy-messages",
            "rl-losses",
            "whole-file",
        ],
    ),
    ("entropy-rl", &["entropy-core", "reward-math", "rl-losses", "softmax-sim"]),
    ("model-files", &["entropy-messages", "whole-file"]),
    ("gguf-import", &["entropy-messages", "model-files", "whole-file"]),
    ("hub-files", &["model-files", "whole-file"]),
    ("code-sandbox", &["entropy-messages", "reward-math"]),
    (
        "question-data",
        &[
            "code-sandbox",
            "counter-rng",
            "entropy-messages",
            "model-files",
            "reward-math",
            "whole-file",
        ],
    ),
    (
        "training-run",
        &[
            "code-sandbox",
            "entropy-messages",
            "model-files",
            "question-data",
            "reward-math",
            "rl-losses",
            "whole-file",
        ],
    ),
    (
        "run-report",
        &[
            "counter-rng",
            "entropy-core",
            "entropy-figures",
            "entropy-messages",
            "model-files",
            "question-data",
            "reward-math",
            "rl-losses",
            "training-run",
            "whole-file",
        ],
    ),
    ("run-plan", &["entropy-messages", "model-files", "reward-math", "training-run"]),
    ("ranks", &["entropy-messages", "model-files", "torch-ext"]),
    (
        "decoder",
        &[
            "counter-rng",
            "cpu-products",
            "entropy-core",
            "entropy-messages",
            "model-files",
            "ranks",
            "torch-ext",
            "whole-file",
        ],
    ),
    (
        "llm-trainer",
        &[
            "code-sandbox",
            "command-pages",
            "counter-rng",
            "decoder",
            "entropy-core",
            "entropy-messages",
            "gguf-import",
            "hub-files",
            "model-files",
            "question-data",
            "ranks",
            "reward-math",
            "rl-losses",
            "run-plan",
            "run-report",
            "torch-ext",
            "training-run",
            "whole-file",
        ],
    ),
];

/// The crates that link libtorch.
const LINK_LIBTORCH: [&str; 5] = ["torch-ext", "cpu-products", "ranks", "decoder", "llm-trainer"];

/// Packages that are libtorch, to Cargo.
const LIBTORCH: [&str; 2] = ["tch", "torch-sys"];

/// Packages that only a program needs.
const COMMAND_LINE: [&str; 5] = ["anyhow", "clap", "clap_builder", "command-pages", "indicatif"];

fn metadata() -> Metadata {
    described(&mut MetadataCommand::new())
}

fn described(command: &mut MetadataCommand) -> Metadata {
    command
        .manifest_path(root().join("Cargo.toml"))
        // Packages of other platforms need not be on this machine.
        .other_options(["--filter-platform".to_owned(), "host-tuple".to_owned()])
        .exec()
        .expect("cargo describes the workspace")
}

pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests stand in the workspace").to_owned()
}

/// The crates under `crates/`, by name: not these tests, which import what they test.
fn crates(metadata: &Metadata) -> BTreeMap<&str, &Package> {
    let members = metadata.workspace_packages().into_iter();
    members
        .map(|package| (package.name.as_str(), package))
        .filter(|(name, _)| *name != "workspace-tests")
        .collect()
}

/// Names of everything a package reaches through normal and build dependencies, itself left out.
fn reaches<'a>(metadata: &'a Metadata, package: &'a Package) -> BTreeSet<&'a str> {
    reaches_through(metadata, package, |_| true)
}

/// Returns [`reaches`] through those of the package's own dependencies that `is_taken`, by name.
fn reaches_through<'a>(
    metadata: &'a Metadata,
    package: &'a Package,
    is_taken: impl Fn(&str) -> bool,
) -> BTreeSet<&'a str> {
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let node_of: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|n| (&n.id, n)).collect();
    let mut seen = BTreeSet::new();
    let mut open = vec![&package.id];
    while let Some(id) = open.pop() {
        for dependency in &node_of[id].deps {
            let built = dependency.dep_kinds.iter().any(|k| k.kind != DependencyKind::Development);
            let is_own = id == &package.id;
            let taken = !is_own || is_taken(metadata[&dependency.pkg].name.as_str());
            if built && taken && seen.insert(&dependency.pkg) {
                open.push(&dependency.pkg);
            }
        }
    }
    seen.into_iter().map(|id| metadata[id].name.as_str()).collect()
}

#[test]
fn the_picture_names_every_crate() {
    let metadata = metadata();
    let drawn: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(crates(&metadata).into_keys().collect::<BTreeSet<_>>(), drawn);
}

#[test]
fn dependencies_follow_the_arrows() {
    let metadata = metadata();
    let crates = crates(&metadata);
    for (name, allowed) in ARROWS {
        let wanted = crates[name].dependencies.iter().map(|dependency| dependency.name.as_str());
        for import in wanted.filter(|import| crates.contains_key(import)) {
            assert!(allowed.contains(&import), "{name} imports {import}: not in the picture");
        }
    }
}

#[test]
fn only_the_trainer_and_what_it_stands_on_link_libtorch() {
    let metadata = metadata();
    for (name, package) in crates(&metadata) {
        let reached = reaches(&metadata, package);
        let links = LIBTORCH.iter().any(|library| reached.contains(library));
        assert_eq!(links, LINK_LIBTORCH.contains(&name), "{name} and libtorch");
    }
}

#[test]
fn the_mathematics_reaches_no_framework() {
    let metadata = metadata();
    let crates = crates(&metadata);
    for name in ["entropy-core", "rl-losses"] {
        let optional = |dependency: &str| {
            crates[name].dependencies.iter().any(|own| own.name == dependency && own.optional)
        };
        let reached = reaches_through(&metadata, crates[name], |name| !optional(name));
        for foreign in ["anyhow", "clap", "ndarray", "rayon", "serde_json", "tempfile", "tokio"] {
            assert!(!reached.contains(foreign), "{name} reaches {foreign}");
        }
    }
}

#[test]
fn libraries_reach_no_command_line() {
    let libraries = described(MetadataCommand::new().features(CargoOpt::NoDefaultFeatures));
    let crates = crates(&libraries);
    for name in ["entropy-core", "rl-losses", "reward-math", "softmax-sim", "entropy-rl"] {
        let reached = reaches(&libraries, crates[name]);
        for foreign in COMMAND_LINE {
            assert!(!reached.contains(foreign), "{name} reaches {foreign}");
        }
    }
    let metadata = metadata();
    let program = reaches(&metadata, self::crates(&metadata)["reward-math"]);
    assert!(COMMAND_LINE.iter().all(|name| program.contains(name)), "the search finds them");
}

#[test]
fn a_plain_build_needs_no_libtorch() {
    let metadata = metadata();
    let default: BTreeSet<&str> =
        metadata.workspace_default_packages().iter().map(|p| p.name.as_str()).collect();
    for (name, _) in crates(&metadata) {
        assert_eq!(default.contains(name), !LINK_LIBTORCH.contains(&name), "{name}");
    }
    assert!(default.contains("workspace-tests"));
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let metadata = metadata();
    for package in metadata.workspace_packages() {
        let text = std::fs::read_to_string(&package.manifest_path).expect("a readable manifest");
        let manifest: toml::Table = text.parse().expect("a manifest is TOML");
        let lints = &manifest["lints"];
        let inherits = lints.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        // The one crate with unsafe code repeats the lints, without the one that denies it.
        let expected = package.name.as_str() != "torch-ext";
        assert_eq!(inherits, expected, "[lints] of {}", package.name);
    }
}

#[test]
fn unsafe_code_stands_in_torch_ext_alone() {
    let metadata = metadata();
    let mut files_with_unsafe = BTreeSet::new();
    for (name, package) in crates(&metadata) {
        let folder = package.manifest_path.parent().expect("a manifest stands in a folder");
        let mut sources = Vec::new();
        rust_files(folder.join("src").as_std_path(), &mut sources);
        assert!(!sources.is_empty(), "{name} has no sources");
        for source in sources {
            let text = std::fs::read_to_string(&source).expect("a readable source");
            if text.lines().any(has_unsafe) {
                files_with_unsafe.insert((name, source));
            }
        }
    }
    assert!(files_with_unsafe.iter().any(|(name, _)| *name == "torch-ext"), "the search finds any");
    let elsewhere: Vec<_> = files_with_unsafe.iter().filter(|(n, _)| *n != "torch-ext").collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

/// Returns true if a line of code, comments left out, contains the word.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe")
}

pub(crate) fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
