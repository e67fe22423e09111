//! Ranks that die, stop or fail: all end, and say whose fault it is.

use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use super::{commands, finish, start};
use crate::interruption::{signal, wait_for_steps};

const ENDLESS: [&str; 3] = ["training.steps=100000", "checkpoint.every=0", "evaluation.every=0"];
/// Of the runs here, in seconds.
const TIMEOUT: u64 = 4;

/// A run of two ranks that has done two steps.
fn under_way(root: &Path) -> Vec<Child> {
    under_way_within(TIMEOUT, root)
}

/// The same with another time-out, in seconds.
fn under_way_within(timeout: u64, root: &Path) -> Vec<Child> {
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
    let own = format!("rank {}, step ", 1 - rank);
    assert!(error.contains(&own) && error.contains(" operation "), "{error}");
}

#[test]
fn a_killed_rank_ends_the_others_who_name_it() {
    for killed in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let mut children = under_way(folder.path());
        let began = Instant::now();
        signal(&children[killed], "-KILL");
        let left = finish(vec![children.remove(1 - killed)]);
        assert!(began.elapsed() < Duration::from_secs(3 * TIMEOUT), "{:?}", began.elapsed());
        assert_names(&error_of(&left[0]), killed);
        finish(children);
    }
}

#[test]
fn a_stopped_rank_ends_the_others_within_the_time_out() {
    for stopped in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let mut children = under_way(folder.path());
        let began = Instant::now();
        signal(&children[stopped], "-STOP");
        let left = finish(vec![children.remove(1 - stopped)]);
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(3 * TIMEOUT), "{waited:?}");
        assert_names(&error_of(&left[0]), stopped);
        signal(&children[0], "-KILL");
        finish(children);
    }
}

/// Shorter than the time-out: it is said whom the others wait for, and the run goes on.
#[test]
fn a_rank_that_is_late_is_named_and_waited_for() {
    const PATIENT: u64 = 20;
    let folder = tempfile::tempdir().unwrap();
    let children = under_way_within(PATIENT, folder.path());
    signal(&children[1], "-STOP");
    // A quarter of the time-out is the first hint.
    std::thread::sleep(Duration::from_secs(PATIENT * 2 / 5));
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
