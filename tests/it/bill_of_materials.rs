//! `scripts/bill-of-materials.py` names what is locked, with its checksum.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::architecture::root;

fn printed(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.expect("the program is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Components by `NAME@VERSION`.
fn components(bill: &Value) -> BTreeMap<String, &Value> {
    let all = bill["components"].as_array().expect("a list");
    let name = |component: &Value| {
        let part = |field: &str| component[field].as_str().expect("text").to_owned();
        format!("{}@{}", part("name"), part("version"))
    };
    all.iter().map(|component| (name(component), component)).collect()
}

#[test]
fn the_bill_holds_every_crate_and_wheel_of_a_build_with_its_checksum() {
    let bill = printed("python3", &["scripts/bill-of-materials.py"]);
    let bill: Value = serde_json::from_str(&bill).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = components(&bill);
    let checksum = |component: &Value| component["hashes"][0]["content"].clone();

    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let lock: toml::Table = toml::from_str(&lock).unwrap();
    let mut locked = BTreeMap::new();
    for package in lock["package"].as_array().unwrap() {
        let part = |field: &str| Some(package.get(field)?.as_str()?.to_owned());
        let name = format!("{}@{}", part("name").unwrap(), part("version").unwrap());
        locked.insert(name, part("checksum").map_or(Value::Null, Value::from));
    }
    let is_wheel = |component: &Value| component["purl"].as_str().unwrap_or("").contains("pypi");
    for (name, component) in components.iter().filter(|(_, component)| !is_wheel(component)) {
        assert_eq!(locked[name], checksum(component), "{name}");
    }

    // `serde v1.0.2 (proc-macro)`: the crates that a build of all programs compiles, as Cargo itself tells.
    let options = "tree --locked --offline --workspace --exclude workspace-tests --edges normal,build --prefix none";
    let tree = printed("cargo", &options.split(' ').collect::<Vec<_>>());
    let name =
        |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join("@").replace("@v", "@");
    let compiled: BTreeSet<String> =
        tree.lines().filter(|line| !line.is_empty()).map(name).collect();
    assert!(compiled.len() > 100, "{compiled:?}");
    for name in compiled {
        let scope = components.get(&name).map(|component| &component["scope"]);
        assert_eq!(scope, Some(&"required".into()), "{name}");
    }

    for list in ["libtorch-cpu.txt", "libtorch-cuda.txt"] {
        let list = std::fs::read_to_string(root().join("scripts").join(list)).unwrap();
        for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (wheel, hash) = line.split_once(" --hash=sha256:").expect("a pinned wheel");
            assert_eq!(checksum(components[&wheel.replace("==", "@")]), hash, "{wheel}");
        }
    }
}
