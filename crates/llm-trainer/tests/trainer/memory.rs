//! Runs with too little memory: refused before they start, or ended by a one-line error.

use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::{copy_to, said_beside_the_device};
use crate::ranks::{commands, finish, start};
use crate::training_run::{assert_success, train_command};

/// The command of a run of so many ranks, whose keys and values are 640 GB a tensor.
fn endless(ranks: usize, folder: &Path) -> Vec<Command> {
    let model = folder.join("model");
    copy_to("tiny_qwen2_tied", &model);
    let config = std::fs::read_to_string(model.join("config.json")).expect("just copied");
    let config = config.replace(": 512", ": 1000000008");
    std::fs::write(model.join("config.json"), config).expect("just copied");
    let path = format!("model.path={:?}", model.display().to_string());
    let settings = [
        path.as_str(),
        "rollout.max_response_tokens=16000000",
        "rollout.rows=12",
        "training.micro_batch_tokens=1000000000",
        "rollout.cpu_kernels=false",
        "evaluation.every=0",
    ];
    if ranks == 1 {
        return vec![confined(&train_command(folder, &settings))];
    }
    commands(ranks, folder, &settings).iter().map(confined).collect()
}

/// Limits the command to an address space of 8 GiB; it starts whatever the plan says.
fn confined(command: &Command) -> Command {
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -v 8388608; exec \"$0\" \"$@\""]).arg(command.get_program());
    limited.args(command.get_args()).args(["--gpu-memory", "10000TB"]);
    for (name, value) in command.get_envs() {
        limited.env(name, value.expect("none is taken away"));
    }
    limited
}

fn said(output: &Output) -> String {
    said_beside_the_device(&output.stderr)
}

#[test]
fn a_run_that_needs_more_than_there_is_does_not_start_and_says_what_would() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = train_command(folder.path(), &[]);
    let output = command.args(["--gpu-memory", "10MB"]).output().unwrap();
    let message = said(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("what to change:\n"), "{message}");
    let last = message.lines().last().unwrap();
    assert!(last.starts_with("error: by the plan one rank needs "), "{message}");
    assert!(last.contains("expected at most 9.54 MiB (as --gpu-memory says): set "), "{message}");
    assert!(
        last.contains("; --gpu-memory ") && last.ends_with("starts it all the same"),
        "{message}"
    );
    assert!(!folder.path().join("run").exists());
    // What the line offers does start it.
    let enough = last.split("--gpu-memory ").nth(2).and_then(|rest| rest.split(' ').next());
    let mut command = train_command(folder.path(), &["training.steps=1", "evaluation.every=0"]);
    let output = command.args(["--gpu-memory", enough.expect("an amount")]).output().unwrap();
    assert_success(&output);
}

#[test]
fn libtorch_s_out_of_memory_is_one_line_with_what_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let output = endless(1, folder.path()).remove(0).output().unwrap();
    let message = said(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    let last = message.lines().last().unwrap();
    assert!(
        last.starts_with("error: out of memory: DefaultCPUAllocator: can't allocate memory"),
        "{message}"
    );
    assert!(last.contains("; set "), "{message}");
    assert!(!message.contains("panicked") && !message.contains("frame #"), "{message}");
}

/// No rank waits for one that is gone, and each says why.
#[test]
fn ranks_end_together_where_memory_runs_out() {
    let folder = tempfile::tempdir().unwrap();
    for output in finish(start(endless(2, folder.path()))) {
        let message = said(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("out of memory: DefaultCPUAllocator"), "{message}");
        assert!(message.contains("rank ") && !message.contains("panicked"), "{message}");
    }
}
