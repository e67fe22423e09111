//! Checkpoints that were damaged, and disks that are full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::said_beside_the_device;
use crate::training_run::{assert_success, comparable_metrics, train, train_by, weights};

/// A run of four steps that stands at step 2, and that checkpoint's folder of the trainer.
fn at_step_two(root: &Path) -> PathBuf {
    assert_success(&train(root, &[]));
    let checkpoints = root.join("run/checkpoints");
    fs::remove_dir_all(checkpoints.join("step-4")).expect("the last step leaves a checkpoint");
    fs::write(checkpoints.join("latest"), "step-2\n").expect("a temporary folder is writable");
    checkpoints.join("step-2/trainer")
}

#[test]
fn a_damaged_state_is_one_line_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let trainer = at_step_two(folder.path());
    let (state, optimizer) = (trainer.join("state.json"), trainer.join("optimizer.safetensors"));
    let whole = fs::read_to_string(&state).unwrap();
    let tensors = fs::read(&optimizer).unwrap();
    let said = || {
        let output = train(folder.path(), &[]);
        assert_eq!(output.status.code(), Some(2));
        let text = said_beside_the_device(&output.stderr).trim_end().to_owned();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    assert!(said().contains("state.json: not a trainer state"));
    fs::write(&state, &whole).unwrap();

    fs::write(&optimizer, &tensors[..tensors.len() - 1]).unwrap();
    assert!(said().contains("optimizer.safetensors: truncated: tensor `"));
    fs::write(&optimizer, &tensors).unwrap();
    assert_success(&train(folder.path(), &[]));
}

/// A limit on the size of files fails a write as a full disk does, at whatever file is the first to reach it.
#[test]
fn a_disk_that_fills_up_at_any_file_costs_no_checkpoint_and_no_bit() {
    // Event files grow faster than metrics: `observability` has them.
    let overrides = ["metrics.tensorboard=false"];
    let whole = tempfile::tempdir().unwrap();
    assert_success(&train(whole.path(), &overrides));
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
    assert_eq!(comparable_metrics(whole.path()), comparable_metrics(folder.path()));
    assert!(weights(whole.path()) == weights(folder.path()), "the weights differ");
}
