//! Starts this binary as the ranks of a run, on loopback.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use torch_ext::Store;

pub(crate) const SCENARIO: &str = "COLLECTIVES_SCENARIO";
pub(crate) const TIMEOUT: &str = "COLLECTIVES_TIMEOUT_SECONDS";
pub(crate) const LOST: &str = "COLLECTIVES_LOST_RANK";
pub(crate) const VERIFY: &str = "COLLECTIVES_VERIFY";

/// The ranks of a run, and the store that the launcher, here the test, serves for them.
pub(crate) struct Run {
    pub(crate) store: Store,
    pub(crate) ranks: Vec<Child>,
}

/// One rank with torchrun's variables and `extra` ones.
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
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A port that nobody listens at just now.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    listener.local_addr().expect("it is bound").port()
}

impl Run {
    /// Starts all ranks, as clients of a store that this process serves.
    pub(crate) fn start(scenario: &str, world_size: usize, extra: &[(&str, &str)]) -> Self {
        let store = Store::serve(0, Duration::from_secs(20)).expect("a free port");
        let port = store.port().expect("served over TCP");
        let extra = [&[("TORCHELASTIC_USE_AGENT_STORE", "True")], extra].concat();
        let start = |rank| {
            let mut command = command(scenario, rank, world_size, port, &extra);
            command.spawn().expect("this binary runs")
        };
        let ranks = (0..world_size).map(start).collect();
        Self { store, ranks }
    }

    /// Waits until every rank has put `key` into the store of its group.
    pub(crate) fn wait_for_all(&self, key: &str) {
        for rank in 0..self.ranks.len() {
            let key = format!("attempt-0/join-0/world/{key}/{rank}");
            self.store.wait_for(&key, Duration::from_secs(20)).expect("every rank gets there");
        }
    }

    /// What every rank said, in order, when all have ended.
    pub(crate) fn outputs(self) -> Vec<Output> {
        let end = |child: Child| child.wait_with_output().expect("a rank ends");
        self.ranks.into_iter().map(end).collect()
    }

    /// Every rank ends well.
    pub(crate) fn assert_success(self) {
        for (rank, output) in self.outputs().iter().enumerate() {
            assert!(output.status.success(), "rank {rank}: {}", text(output));
        }
    }
}

/// All that a rank said.
pub(crate) fn text(output: &Output) -> String {
    let stream = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}: {}{}", output.status, stream(&output.stdout), stream(&output.stderr))
}

/// The error that a rank said with `failures::say`.
pub(crate) fn error(output: &Output) -> String {
    let all = text(output);
    let line = all.lines().find_map(|line| line.split_once("error: "));
    line.unwrap_or_else(|| panic!("no error in {all}")).1.to_owned()
}
