//! Runs a scenario in a process that was started as a rank.

use std::time::Duration;

use torch_ext::{GroupOptions, Placement, ProcessGroup};

use crate::processes::{CONNECT, LONG, SCENARIO, TIMEOUT};
use crate::{closed_forms, failures, overlap, sub_groups};

/// Runs the scenario that the starting process names, or, without one, the closed forms in a world of one.
#[test]
fn body_of_a_rank() {
    let variable = |name| std::env::var(name).ok();
    let scenario = variable(SCENARIO).unwrap_or_else(|| "closed_forms".to_owned());
    let seconds = |name| {
        let text = variable(name)?;
        Some(Duration::from_secs_f64(text.parse().expect("set by a test")))
    };
    let options = GroupOptions {
        timeout: seconds(TIMEOUT).unwrap_or(LONG),
        connect_timeout: seconds(CONNECT).unwrap_or(LONG),
        ..GroupOptions::default()
    };
    tch::set_num_threads(1);
    // The `join` scenario expects an error; every other one has a group.
    let group = match ProcessGroup::join(&Placement::from_env().unwrap(), &options) {
        Ok(group) => group,
        Err(error) if scenario == "join" => return failures::say(&error),
        Err(error) => panic!("{error}"),
    };
    match scenario.as_str() {
        "join" => {}
        "closed_forms" => closed_forms::scenario(&group),
        "overlap" => overlap::scenario(&group),
        "sub_groups" => sub_groups::scenario(&group),
        "lost_peer" => failures::lost_peer(&group),
        other => panic!("no scenario {other}"),
    }
}
