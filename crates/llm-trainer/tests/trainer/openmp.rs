//! How threads that wait for each other do so.

use std::process::{Command, Stdio};

use crate::interruption::{signal, wait_for_steps};
use crate::training_run::train_command;

/// The environment of a run that has got to its first step, with one more variable.
fn environment_of(arrange: impl Fn(&mut Command)) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = train_command(folder.path(), &["training.steps=100000"]);
    command.env_remove("GOMP_SPINCOUNT").env_remove("OMP_WAIT_POLICY");
    arrange(&mut command);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the binary of this crate runs");
    wait_for_steps(folder.path(), 1);
    let environment = std::fs::read(format!("/proc/{}/environ", child.id())).expect("Linux");
    signal(&child, "-KILL");
    child.wait().expect("it was started here");
    String::from_utf8_lossy(&environment).replace('\0', "\n")
}

/// libgomp reads its variables before `main`, so the program has to have begun with them.
#[test]
fn threads_wait_by_sleeping_unless_the_user_says_otherwise() {
    let bounded = environment_of(|_| ());
    assert!(bounded.lines().any(|line| line == "GOMP_SPINCOUNT=1000"), "{bounded}");
    for (name, value) in [("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "7")] {
        let chosen = environment_of(|command| {
            command.env(name, value);
        });
        assert!(!chosen.contains("GOMP_SPINCOUNT=1000"), "{name}: {chosen}");
    }
}
