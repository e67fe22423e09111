//! Starts this binary as the ranks of a run, on loopback.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use torch_ext::Store;
use workspace_tests::processes::{self, Process};

pub(crate) const SCENARIO: &str = "COLLECTIVES_SCENARIO";
pub(crate) const TIMEOUT: &str = "COLLECTIVES_TIMEOUT_SECONDS";
pub(crate) const CONNECT: &str = "COLLECTIVES_CONNECT_SECONDS";
pub(crate) const LOST: &str = "COLLECTIVES_LOST_RANK";

/// Far longer than anything takes here, unless it hangs.
pub(crate) const LONG: Duration = Duration::from_mins(5);

/// The ranks of a run, and the store that this test serves in place of a launcher.
pub(crate) struct Run {
    pub(crate) store: Store,
    pub(crate) ranks: Vec<Process>,
}

/// Command of one rank, with torchrun's variables and `extra` ones.
pub(crate) fn command(
    scenario: &str,
    rank: usize,
    world_size: usize,
    port: u16,
    extra: &[(&str, &str)],
) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its binary"));
    command.args(["rank::body_of_a_rank", "--exact", "--nocapture", "--test-threads=1"]);
    command
        .env(SCENARIO, scenario)
        .env("RANK", rank.to_string())
        .env("WORLD_SIZE", world_size.to_string())
        .env("LOCAL_RANK", rank.to_string())
        .env("LOCAL_WORLD_SIZE", world_size.to_string())
        .env("MASTER_ADDR", "127.0.0.1")
        .env("MASTER_PORT", port.to_string())
        .env("OMP_NUM_THREADS", "1")
        .envs(extra.iter().copied());
    command.stdin(Stdio::null());
    command
}

impl Run {
    /// Starts all ranks, as clients of a store that this process serves.
    pub(crate) fn start(scenario: &str, world_size: usize, extra: &[(&str, &str)]) -> Self {
        let store = Store::serve(0, LONG).expect("a free port");
        let port = store.port().expect("served over TCP");
        let extra = [&[("TORCHELASTIC_USE_AGENT_STORE", "True")], extra].concat();
        let start = |rank| Process::start(&mut command(scenario, rank, world_size, port, &extra));
        let ranks = (0..world_size).map(start).collect();
        Self { store, ranks }
    }

    /// Waits until every rank has set `key` in the store of its group.
    pub(crate) fn wait_for_all(&self, key: &str) {
        wait_for_all(&self.store, key, self.ranks.len());
    }

    /// Outputs of all ranks, in rank order, once all have ended.
    pub(crate) fn outputs(self) -> Vec<Output> {
        processes::finish(self.ranks)
    }

    /// Asserts that every rank succeeds.
    pub(crate) fn assert_success(self) {
        processes::succeed(self.ranks);
    }
}

/// Waits until `ranks` ranks have set `key` in the store of their group.
pub(crate) fn wait_for_all(store: &Store, key: &str, ranks: usize) {
    for rank in 0..ranks {
        let key = format!("attempt-0/join-0/world/{key}/{rank}");
        store.wait_for(&key, LONG).expect("every rank gets there");
    }
}

/// The error that a rank printed with `failures::say`.
pub(crate) fn error(output: &Output) -> String {
    let all = processes::text(output);
    let line = all.lines().find_map(|line| line.split_once("error: "));
    line.unwrap_or_else(|| panic!("no error in {all}")).1.to_owned()
}
