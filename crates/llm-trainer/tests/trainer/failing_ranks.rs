//! Ranks that die, stop or fail: all end, and say whose fault it is.
//!
//! Tests are started by their names: those that wait for a time-out, here and in `hosts`, stand before the many that compute.

use std::path::Path;
use std::process::{Command, Output};

use workspace_tests::processes::wait_until;

use crate::interruption::{signal, wait_for_steps};
use crate::ranks::{Process, commands, finish, start};

const ENDLESS: [&str; 3] = ["training.steps=100000", "checkpoint.every=0", "evaluation.every=0"];
/// A run of two ranks that has done two steps; they wait for each other as many seconds.
fn under_way(timeout: u64, root: &Path) -> Vec<Process> {
    let timeout = format!("parallel.timeout_seconds={timeout}");
    let settings = [&ENDLESS[..], &[&timeout]].concat();
    let children = start(commands(2, root, &settings));
    wait_for_steps(root, 2);
    children
}

/// The error of a process that ended by one. libtorch may have warned of connections that broke.
fn error_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    errors[0].to_owned()
}

/// Both where this rank stood and where the other was last seen.
fn assert_names(error: &str, rank: usize) {
    assert!(error.contains(&format!("rank {rank} has not ")), "{error}");
    assert!(error.contains(&format!("last seen: rank {rank}, step ")), "{error}");
    let other_rank = format!("rank {}, step ", 1 - rank);
    assert!(error.contains(&other_rank) && error.contains(" operation "), "{error}");
}

/// At once: the time-out is a day.
#[test]
fn a_killed_rank_ends_the_others_who_name_it() {
    for killed in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let mut children = under_way(86_400, folder.path());
        signal(&children[killed], "-KILL");
        let left = finish(vec![children.remove(1 - killed)]);
        assert_names(&error_of(&left[0]), killed);
    }
}

#[test]
fn a_stopped_rank_ends_the_others_after_the_time_out() {
    for stopped in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let mut children = under_way(15, folder.path());
        signal(&children[stopped], "-STOP");
        let left = finish(vec![children.remove(1 - stopped)]);
        assert_names(&error_of(&left[0]), stopped);
    }
}

/// Shorter than the time-out, of which a quarter is the first hint: it is said whom the others wait for, and the run goes on.
#[test]
fn a_rank_that_is_late_is_named_and_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let children = under_way(60, folder.path());
    signal(&children[1], "-STOP");
    wait_until("the first rank names the second", || {
        children[0].stderr().contains("not there yet:\n  rank 1, step ")
    });
    let steps = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    signal(&children[1], "-CONT");
    wait_for_steps(folder.path(), steps.lines().count() + 2);
    signal(&children[1], "-TERM");
    let outputs = finish(children);
    for output in &outputs {
        assert_eq!(output.status.code(), Some(143));
    }
    let text = String::from_utf8_lossy(&outputs[0].stderr);
    assert!(text.contains("not there yet:\n  rank 1, step "), "{text}");
}

/// A limit on the size of files makes the first rank fail where it writes the checkpoint.
#[test]
fn what_makes_one_rank_fail_is_said_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut ranks = commands(2, folder.path(), &[]);
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]);
    limited.arg(ranks[0].get_program()).args(ranks[0].get_args());
    let environment = ranks[0].get_envs().filter_map(|(name, value)| Some((name, value?)));
    limited.envs(environment);
    ranks[0] = limited;
    let outputs = finish(start(ranks));
    for (rank, output) in outputs.iter().enumerate() {
        let error = error_of(output);
        assert!(error.contains("File too large") && error.contains("checkpoints"), "{error}");
        assert!(rank == 0 || error.contains("rank 0"), "{error}");
    }
}
