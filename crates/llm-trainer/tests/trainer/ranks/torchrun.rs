//! Started, and started again, by torchrun.

use std::path::Path;
use std::process::Command;

use workspace_tests::processes::{Process, finish, wait_until};

use crate::training_run::{assert_success, train_command};

/// torchrun is never required; where it is there (`PYTHON`, or python3), it starts a run, and again after a rank has died.
#[test]
fn torchrun_restarts_a_run_that_goes_on_after_its_checkpoint() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let torchrun = || {
        let mut command = Command::new(&python);
        // Its own libtorch, not the one of this test.
        command.env_remove("LD_LIBRARY_PATH").args(["-m", "torch.distributed.run"]);
        command
    };
    if !torchrun().arg("--help").output().is_ok_and(|output| output.status.success()) {
        eprintln!("{python} has no torch.distributed.run: no run is started by torchrun");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        "training.steps=60",
        "checkpoint.every=1",
        "evaluation.every=0",
        "parallel.timeout_seconds=60",
    ];
    let rank = train_command(folder.path(), &settings);
    let mut launcher = torchrun();
    launcher.args(["--no-python", "--nproc-per-node", "2", "--max-restarts", "1"]);
    launcher.args(["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "env"]);
    let libraries = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    launcher.arg(format!("LD_LIBRARY_PATH={libraries}")).arg("OMP_NUM_THREADS=1");
    launcher.arg(rank.get_program()).args(rank.get_args());
    let launcher = Process::start(&mut launcher);
    crate::interruption::wait_for_steps(folder.path(), 2);
    let ranks = children_of(launcher.id(), 2);
    assert_eq!(ranks.len(), 2, "{ranks:?}");
    let killed = Command::new("kill").args(["-KILL", &ranks[1].to_string()]).status().unwrap();
    assert!(killed.success());
    let output = finish(vec![launcher]).remove(0);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("going on after step ") && text.contains("60 steps done"), "{text}");
    let metrics = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 60, "each step once");
}

/// Processes that one has started, in the order of their ids, once there are so many.
pub(crate) fn children_of(parent: u32, count: usize) -> Vec<u32> {
    let mut children = Vec::new();
    wait_until("a process has its children", || {
        let processes = std::fs::read_dir("/proc").expect("Linux");
        children = processes
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|&id| parent_of(id) == Some(parent))
            .collect();
        children.len() >= count
    });
    children.sort_unstable();
    children
}

fn parent_of(id: u32) -> Option<u32> {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).ok()?;
    // The name, in parentheses, may hold spaces; state and parent come after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
