//! The crates that a release publishes have what a registry asks for, and depend on nothing that stays here.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::architecture::root;

/// A crate that may be published: its manifest names no registries, or some.
fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

fn workspace_crates() -> Vec<Package> {
    let mut command = MetadataCommand::new();
    let metadata = command.manifest_path(root().join("Cargo.toml")).no_deps().exec();
    metadata.expect("cargo describes the workspace").packages
}

#[test]
fn published_crates_say_what_a_registry_shows() {
    let crates = workspace_crates();
    let published: Vec<&Package> = crates.iter().filter(|package| is_published(package)).collect();
    assert!(published.len() >= 4 && published.len() < crates.len());
    for package in published {
        let name = package.name.as_str();
        assert!(package.description.is_some() && package.license.is_some(), "{name}");
        assert!(package.rust_version.is_some(), "{name} has no rust-version");
        assert!((1..=5).contains(&package.keywords.len()), "{name}: {:?}", package.keywords);
        assert!(!package.categories.is_empty(), "{name} has no category");
        assert_eq!(package.metadata["docs"]["rs"]["all-features"], true, "{name}");
        let folder = package.manifest_path.parent().expect("a manifest stands in a folder");
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            let text = std::fs::read_to_string(folder.join(file));
            assert!(!text.expect(file).is_empty(), "{file} of {name}");
        }
        let readme = package.readme.as_ref().map(|path| path.as_str());
        assert_eq!(readme, Some("README.md"), "{name}");
    }
}

#[test]
fn published_crates_depend_on_published_versions() {
    let crates = workspace_crates();
    for package in crates.iter().filter(|package| is_published(package)) {
        let built = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
        for dependency in built.filter(|dependency| dependency.path.is_some()) {
            let other = crates.iter().find(|other| other.name.as_str() == dependency.name);
            let other = other.expect("a path leads to a crate of the workspace");
            let (name, import) = (&package.name, &dependency.name);
            assert!(is_published(other), "{name} needs {import}, which is not published");
            let (version, wanted) = (&other.version, &dependency.req);
            let exact = wanted.matches(version) && wanted.to_string() != "*";
            assert!(exact, "{name} wants {import} {wanted}, which is {version}");
        }
    }
}

#[test]
fn the_script_packs_the_published_crates() {
    let script = std::fs::read_to_string(root().join("scripts/package.sh")).expect("the script");
    let list = script.lines().find_map(|line| line.strip_prefix("crates=(")?.strip_suffix(')'));
    let packed: BTreeSet<&str> = list.expect("one line of crates").split(' ').collect();
    let crates = workspace_crates();
    let published = crates.iter().filter(|package| is_published(package));
    assert_eq!(packed, published.map(|package| package.name.as_str()).collect());
}

#[test]
fn the_published_crates_pack() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.current_dir(root()).args(["package", "--no-verify", "--offline", "--locked"]);
    command.args(["--allow-dirty", "--target-dir"]).arg(folder.path());
    let crates = workspace_crates();
    let published: Vec<&Package> = crates.iter().filter(|package| is_published(package)).collect();
    for package in &published {
        command.args(["-p", package.name.as_str()]);
    }
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for package in published {
        let file = format!("package/{}-{}.crate", package.name, package.version);
        assert!(folder.path().join(&file).is_file(), "{file}");
    }
}
