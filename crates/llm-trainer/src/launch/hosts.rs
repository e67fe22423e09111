//! The launchers of one run on several hosts, and the messages they exchange through the store.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use torch_ext::{GroupError, Store};

use super::ended::LaunchEvent;
use super::options::LaunchOptions;

/// Interval at which a launcher reads the messages of the others.
const LOOK: Duration = Duration::from_millis(250);
/// Longest time that a launcher waits for an answer of the store.
const ANSWER: Duration = Duration::from_mins(10);
/// Silence after which launchers no longer wait for the launcher of another host.
const SILENCE: Duration = Duration::from_secs(30);
/// Store key of the first failed launcher's message.
const FAILURE: &str = "failure";

/// The launchers of a run, once all that this one needs have joined.
#[derive(Debug)]
pub(super) struct Hosts {
    index: usize,
    /// TCP port of the store.
    pub(super) port: u16,
    /// The store; its host keeps it open until all launchers are done with it.
    store: Store,
    /// The thread that talks to the store, which may take long to answer, and how it gets failures; `None` with one host.
    store_thread: Option<(Sender<String>, JoinHandle<()>)>,
}

impl Hosts {
    /// Serves the store, or connects to that of the first host, and checks that all launchers have the same run.
    pub(super) fn join(
        options: &LaunchOptions,
        events: Sender<LaunchEvent>,
    ) -> anyhow::Result<Self> {
        let (first, port) = (options.first_host(), options.port());
        let (index, count, processes) = (options.node_rank, options.nnodes, options.processes);
        let store = if index == 0 {
            Store::serve(port, ANSWER).map_err(|error| match error {
                GroupError::PortTaken { port } => anyhow::anyhow!(
                    "cannot serve the store at {first}:{port}: {error}; expected a free one as --master-port, the same on \
                     every host"
                ),
                other => anyhow::Error::from(other).context("cannot serve a store"),
            })?
        } else {
            let store = Store::connect(first, port, options.connect_seconds, ANSWER);
            store.map_err(|error| not_reached(first, port, error))?
        };
        let port = store.port().context("the store has no port")?;
        if count == 1 {
            return Ok(Self { index, port, store, store_thread: None });
        }
        let launch_store = store.prefixed("launch")?;
        let run = format!("-n {processes} --nnodes {count}");
        if index == 0 {
            launch_store.set("run", run.as_bytes())?;
        }
        let expected = String::from_utf8_lossy(&launch_store.get("run")?).into_owned();
        anyhow::ensure!(expected == run, "the first host was given {expected}, this one {run}");
        anyhow::ensure!(
            launch_store.add(&format!("here/{index}"), 1)? == 1,
            "another launcher is host {index} already, expected one launcher a host"
        );
        let (sender, failures) = channel();
        let store_thread = StoreThread {
            store: launch_store,
            events,
            failures,
            host: index,
            has_heard: false,
            is_first_to_fail: false,
            others: vec![(0, Instant::now()); count - 1],
        };
        let thread = thread::Builder::new().name("hosts".to_owned());
        let thread = thread.spawn(move || store_thread.run()).context("cannot start a thread")?;
        Ok(Self { index, port, store, store_thread: Some((sender, thread)) })
    }

    /// Reports to the other hosts that a rank of this host has failed; `failure` says how. Called once at most.
    pub(super) fn tell(&self, failure: String) {
        if let Some((failures, _)) = &self.store_thread {
            // The thread may have ended with the store.
            let _ = failures.send(failure);
        }
    }

    /// Waits for the other hosts after the ranks of this host have ended. Host 0, which serves the store, waits until the ranks of all
    /// other hosts have ended or are silent. No host waits longer than `patience`, nor once `is_asked_to_end`.
    pub(super) fn wait_for_others(
        self,
        patience: Option<Duration>,
        mut is_asked_to_end: impl FnMut() -> bool,
    ) {
        let Some((failures, thread)) = self.store_thread else { return };
        // Says that this launcher leaves.
        drop(failures);
        let patience = patience.unwrap_or(if self.index == 0 { Duration::MAX } else { SILENCE });
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < patience && !is_asked_to_end() {
            thread::sleep(LOOK / 10);
        }
        // Not earlier: dropping the store stops its server.
        drop(self.store);
    }
}

fn not_reached(first: &str, port: u16, error: GroupError) -> anyhow::Error {
    let message = match error {
        GroupError::Store { message, .. } => message,
        other => other.to_string(),
    };
    anyhow::anyhow!(
        "cannot reach the store of the first host at {first}:{port}: {message}; expected its launcher, \
         --node-rank 0, within --connect-seconds"
    )
}

struct StoreThread {
    store: Store,
    events: Sender<LaunchEvent>,
    /// Failures of ranks of this host; it is closed once the launcher leaves.
    failures: Receiver<String>,
    host: usize,
    has_heard: bool,
    is_first_to_fail: bool,
    /// Number of the last heartbeat of every host but host 0, and the time at which it was heard.
    others: Vec<(i64, Instant)>,
}

impl StoreThread {
    fn run(mut self) {
        let (mut failure, mut is_leaving) = (None, false);
        loop {
            match self.exchange(failure.take(), is_leaving) {
                Ok(true) => return,
                Ok(false) => {}
                Err(_) => {
                    // Host 0 keeps its store until all have left, so it died early.
                    self.heard("host 0, whose launcher serves the store, is gone".to_owned());
                    return;
                }
            }
            match self.failures.recv_timeout(LOOK) {
                Ok(reported) => failure = Some(reported),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if is_leaving => thread::sleep(LOOK),
                // All that was reported before leaving has come.
                Err(RecvTimeoutError::Disconnected) => is_leaving = true,
            }
        }
    }

    /// Sends the failure of a rank of this host, and reads what the others say. Returns true once there is nobody left to wait for.
    fn exchange(&mut self, failure: Option<String>, is_leaving: bool) -> Result<bool, GroupError> {
        self.store.add(&format!("beat/{}", self.host), 1)?;
        if let Some(failure) = failure
            && self.store.add("failures", 1)? == 1
        {
            self.is_first_to_fail = true;
            self.store.set(FAILURE, format!("{failure}, on host {}", self.host).as_bytes())?;
        }
        if !self.is_first_to_fail
            && let Some(failure) = self.store.get_if_set(FAILURE)?
        {
            self.heard(String::from_utf8_lossy(&failure).into_owned());
        }
        if !is_leaving {
            return Ok(false);
        }
        self.store.set(&format!("left/{}", self.host), b"")?;
        if self.host > 0 {
            return Ok(true);
        }
        let mut is_over = true;
        for (host, (last, heard)) in (1..).zip(&mut self.others) {
            let beats = self.store.add(&format!("beat/{host}"), 0)?;
            if beats != *last {
                (*last, *heard) = (beats, Instant::now());
            }
            let has_left = self.store.is_set(&format!("left/{host}"))?;
            is_over &= has_left || heard.elapsed() > SILENCE;
        }
        Ok(is_over)
    }

    /// Records the failure of another host; only the first one counts.
    fn heard(&mut self, failure: String) {
        if !std::mem::replace(&mut self.has_heard, true) {
            // The launcher may no longer receive events.
            let _ = self.events.send(LaunchEvent::OtherHost(failure));
        }
    }
}
