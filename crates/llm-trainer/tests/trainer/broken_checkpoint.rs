//! Checkpoints that were damaged, and disks that are full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::said_beside_the_device;
use crate::training_run::{
    assert_success, comparable_metrics, train, train_by, train_process, weights,
};

/// A run of four steps that stands at step 2, and that checkpoint's folder of the trainer.
fn at_step_two(root: &Path) -> PathBuf {
    assert_success(&train(root, &[]));
    let checkpoints = root.join("run/checkpoints");
    fs::remove_dir_all(checkpoints.join("step-4")).expect("the last step leaves a checkpoint");
    fs::write(checkpoints.join("latest"), "step-2\n").expect("a temporary folder is writable");
    checkpoints.join("step-2/trainer")
}

#[test]
fn a_run_whose_only_checkpoint_is_damaged_ends_in_one_line_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let trainer = at_step_two(folder.path());
    let (state, optimizer) = (trainer.join("state.json"), trainer.join("optimizer.safetensors"));
    let state_text = fs::read_to_string(&state).unwrap();
    let tensors = fs::read(&optimizer).unwrap();
    let warnings = || {
        let output = train_process(folder.path(), &[]);
        assert_eq!(output.status.code(), Some(2));
        let text = said_beside_the_device(&output.stderr).trim_end().to_owned();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    fs::write(&state, &state_text[..state_text.len() / 2]).unwrap();
    let damage = "no checkpoint is whole: the checkpoint of step 2 is damaged: trainer/";
    assert!(warnings().contains(&format!("{damage}state.json has ")), "{}", warnings());
    fs::write(&state, &state_text).unwrap();

    fs::write(&optimizer, &tensors[..tensors.len() - 1]).unwrap();
    assert!(warnings().contains(&format!("{damage}optimizer.safetensors has ")), "{}", warnings());
    fs::write(&optimizer, &tensors).unwrap();
    assert_success(&train(folder.path(), &[]));
}

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).expect("a file of the checkpoint");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("a temporary folder is writable");
}

fn cut(path: &Path) {
    let length = fs::metadata(path).expect("a file of the checkpoint").len();
    let file = fs::File::options().write(true).open(path).expect("a temporary folder is writable");
    file.set_len(length / 2).expect("a shorter file");
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("a file of the checkpoint");
}

fn empty(path: &Path) {
    fs::write(path, "").expect("a temporary folder is writable");
}

/// The names and contents of what a run has sampled.
fn samples(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(root.join("run/samples")).expect("a run leaves samples");
    let read = |path: PathBuf| (path.clone(), fs::read(path).expect("a file"));
    let mut all: Vec<_> = entries.map(|entry| read(entry.expect("a name").path())).collect();
    all.sort();
    all
}

/// A file of the checkpoint, the damage to it, and a phrase of the warning.
type Damage = (&'static str, fn(&Path), &'static str);

/// The run goes on after the checkpoint before, and comes to the same end.
#[test]
fn a_damaged_newest_checkpoint_is_named_and_the_one_before_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &[]));
    let checkpoints = folder.path().join("run/checkpoints");
    let end = (comparable_metrics(folder.path()), weights(folder.path()), samples(folder.path()));
    let damages: [Damage; 6] = [
        ("step-4/model.safetensors", flip_a_bit, "model.safetensors has a SHA-256 of "),
        (
            "step-4/trainer/optimizer.safetensors",
            flip_a_bit,
            "optimizer.safetensors has a SHA-256 of ",
        ),
        ("step-4/trainer/optimizer.safetensors", cut, "optimizer.safetensors has "),
        ("step-4/model.safetensors", remove, "model.safetensors is missing"),
        ("step-4/trainer/manifest.json", remove, "manifest.json is missing"),
        ("step-4/trainer/state.json", flip_a_bit, "state.json has a SHA-256 of "),
    ];
    for (name, damage, phrase) in damages {
        damage(&checkpoints.join(name));
        let output = train_process(folder.path(), &[]);
        assert_success(&output);
        let (told, warned) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(told.contains("going on after step 2 of 4"), "{name}: {told}");
        let warning =
            warned.lines().find(|line| line.contains("warning: the checkpoint of step 4"));
        assert!(warning.is_some_and(|line| line.contains(phrase)), "{name}: {warned}");
        let now =
            (comparable_metrics(folder.path()), weights(folder.path()), samples(folder.path()));
        assert!(now == end, "{name}: the run comes to another end");
    }
    // Nothing but the pointer: the newest is whole.
    empty(&checkpoints.join("latest"));
    let output = train_process(folder.path(), &[]);
    assert_success(&output);
    assert!(String::from_utf8_lossy(&output.stdout).contains("all 4 steps are done"));
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(warned.contains("latest: is \"\", expected the name of a folder"), "{warned}");
}

#[test]
fn a_damaged_checkpoint_that_is_named_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &[]));
    let newest = folder.path().join("run/checkpoints/step-4");
    flip_a_bit(&newest.join("model.safetensors"));
    for named in [newest.clone(), folder.path().join("run")] {
        let mut command = crate::training_run::train_command(folder.path(), &[]);
        let output = command.arg("--resume").arg(named).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("step-4: damaged: model.safetensors has a SHA-256 of "), "{text}");
    }
}

/// A limit on the size of files fails a write as a full disk does, at whatever file is the first to reach it.
#[test]
fn a_disk_that_fills_up_at_any_file_costs_no_checkpoint_and_no_bit() {
    // Event files grow faster than metrics: `observability` has them.
    let overrides = ["metrics.tensorboard=false"];
    let uninterrupted = tempfile::tempdir().unwrap();
    assert_success(&train(uninterrupted.path(), &overrides));
    let folder = tempfile::tempdir().unwrap();
    let mut failed_at = Vec::new();
    // In KiB: configuration, metrics, samples, weights and optimiser state reach it, one after the other.
    for limit in ["1", "4", "64", "512"] {
        let mut limited = Command::new("bash");
        limited.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "bash", limit]);
        limited.arg(env!("CARGO_BIN_EXE_llm-trainer"));
        let output = train_by(limited, folder.path(), &overrides);
        assert_eq!(output.status.code(), Some(2), "{limit}");
        let text = String::from_utf8_lossy(&output.stderr);
        let error = text.lines().last().unwrap_or_default().to_owned();
        assert!(
            error.starts_with("error: ") && error.contains("File too large"),
            "{limit}: {text}"
        );
        failed_at.push(error);
    }
    let reached = |name: &str| failed_at.iter().any(|error| error.contains(name));
    assert!(reached("config.toml") || reached("resolved.json"), "{failed_at:?}");
    assert!(reached("step-2") && reached("metrics.jsonl"), "{failed_at:?}");
    assert!(failed_at.last().is_some_and(|error| error.contains("checkpoints")), "{failed_at:?}");
    assert_success(&train(folder.path(), &overrides));
    assert_eq!(comparable_metrics(uninterrupted.path()), comparable_metrics(folder.path()));
    assert!(weights(uninterrupted.path()) == weights(folder.path()), "the weights differ");
}
