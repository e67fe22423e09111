//! Every committed configuration of a run is one that can start.

use std::path::Path;

use training_run::config::Run;

#[test]
fn every_run_configuration_resolves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let mut checked = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        let stem = path.file_stem().unwrap().to_string_lossy();
        // A warm-up has a type of its own, which llm-trainer's tests read, and a sweep one that softmax-sim's tests read.
        if is_toml && !stem.ends_with("-warmup") && !stem.starts_with("sweep-") {
            Run::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
            checked += 1;
        }
    }
    assert!(checked >= 3, "only {checked} configurations found");
}

/// The demo compares methods that differ in nothing but the loss, as its script sets it.
#[test]
fn the_losses_of_the_demo_script_are_losses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let script = std::fs::read_to_string(root.join("scripts/demo.sh")).unwrap();
    let mut count = 0;
    for line in script.lines().filter(|line| line.starts_with("train ")) {
        let loss = line.split('\'').nth(1).unwrap();
        let set = format!("algorithm.policy_loss = {loss}");
        Run::load(&root.join("configs/demo.toml"), &[set])
            .unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert_eq!(count, 3, "GRPO, Clip-Cov and KL-Cov");
}
