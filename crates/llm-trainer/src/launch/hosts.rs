//! The launchers of one run on several hosts, and the messages they exchange through the store.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use torch_ext::{GroupError, Store};

use super::ended::LaunchEvent;

/// Interval at which a launcher reads the messages of the others.
const LOOK: Duration = Duration::from_millis(250);
/// Longest time that a launcher waits for an answer of the store.
const ANSWER: Duration = Duration::from_mins(10);
/// Silence after which launchers no longer wait for the launcher of another host.
const SILENCE: Duration = Duration::from_secs(30);
/// Store key of the first failed launcher's message.
const FAILURE: &str = "failure";

/// One host of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    /// Index of this host, from 0; host 0 serves the store.
    pub(crate) index: usize,
    /// Number of hosts, at least 1.
    pub(crate) count: usize,
    /// Name or address of host 0, under which all hosts reach it.
    pub(crate) first: String,
    /// TCP port of the store on host 0. With one host, 0 takes a free port.
    pub(crate) port: u16,
    /// Longest time that other hosts wait for host 0 to serve the store.
    pub(crate) connect_timeout: Duration,
}

impl Host {
    /// The only host of a run.
    pub(crate) fn alone() -> Self {
        let (first, connect_timeout) = ("127.0.0.1".to_owned(), Duration::from_mins(1));
        Self { index: 0, count: 1, first, port: 0, connect_timeout }
    }
}

/// The launchers of a run, once all that this one needs have joined.
#[derive(Debug)]
pub(super) struct Hosts {
    index: usize,
    /// TCP port of the store.
    pub(super) port: u16,
    /// The store; its host keeps it open until all launchers are done with it.
    store: Store,
    mailbox: Option<(Arc<Mutex<Mailbox>>, JoinHandle<()>)>,
}

/// Messages between the launcher and the thread that talks to the store, which may take long to answer.
#[derive(Debug, Default)]
struct Mailbox {
    is_leaving: bool,
    /// The failure of a rank of this host, not yet sent.
    own: Option<String>,
    /// The failure of a rank of another host, if that came first.
    others: Option<String>,
}

impl Hosts {
    /// Serves the store, or connects to that of the first host, and checks that all launchers have the same run.
    pub(super) fn join(
        host: &Host,
        processes: usize,
        events: Sender<LaunchEvent>,
    ) -> anyhow::Result<Self> {
        let Host { index, count, first, port, connect_timeout } = host;
        let store = if *index == 0 {
            Store::serve(*port, ANSWER).map_err(|error| not_served(host, error))?
        } else {
            Store::connect(first, *port, *connect_timeout, ANSWER)
                .map_err(|error| not_reached(host, error))?
        };
        let port = store.port().context("the store has no port")?;
        if *count == 1 {
            return Ok(Self { index: 0, port, store, mailbox: None });
        }
        let launch_store = store.prefixed("launch")?;
        let run = format!("-n {processes} --nnodes {count}");
        if *index == 0 {
            launch_store.set("run", run.as_bytes())?;
        }
        let expected = String::from_utf8_lossy(&launch_store.get("run")?).into_owned();
        anyhow::ensure!(expected == run, "the first host was given {expected}, this one {run}");
        anyhow::ensure!(
            launch_store.add(&format!("here/{index}"), 1)? == 1,
            "another launcher is host {index} already, expected one launcher a host"
        );
        let mailbox = Arc::<Mutex<Mailbox>>::default();
        let store_thread = StoreThread {
            store: launch_store,
            events,
            mailbox: Arc::clone(&mailbox),
            host: *index,
            has_told: false,
            is_first_to_fail: false,
            others: (1..*count)
                .map(|index| Other { index, beats: 0, heard: Instant::now() })
                .collect(),
        };
        let thread = thread::Builder::new().name("hosts".to_owned());
        let thread = thread.spawn(move || store_thread.run()).context("cannot start a thread")?;
        Ok(Self { index: *index, port, store, mailbox: Some((mailbox, thread)) })
    }

    /// Reports to the other hosts that a rank of this host has failed; `failure` says how.
    pub(super) fn tell(&self, failure: &str) {
        if let Some((mailbox, thread)) = &self.mailbox {
            open(mailbox).own.get_or_insert_with(|| failure.to_owned());
            thread.thread().unpark();
        }
    }

    /// Waits for the other hosts after the ranks of this host have ended. Host 0, which serves the store, waits until the ranks of all
    /// other hosts have ended or are silent. No host waits longer than `patience`, nor once `is_asked_to_end`. Returns the
    /// failure of another host if it came first.
    pub(super) fn wait_for_others(
        self,
        patience: Option<Duration>,
        is_asked_to_end: impl Fn() -> bool,
    ) -> Option<String> {
        let (mailbox, thread) = self.mailbox?;
        let patience = patience.unwrap_or(if self.index == 0 { Duration::MAX } else { SILENCE });
        open(&mailbox).is_leaving = true;
        thread.thread().unpark();
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < patience && !is_asked_to_end() {
            thread::sleep(LOOK / 10);
        }
        // Not earlier: dropping the store stops its server.
        drop(self.store);
        open(&mailbox).others.take()
    }
}

fn not_served(Host { first, .. }: &Host, error: GroupError) -> anyhow::Error {
    match error {
        GroupError::PortTaken { port } => anyhow::anyhow!(
            "cannot serve the store at {first}:{port}: {error}; expected a free one as --master-port, the \
             same on every host"
        ),
        other => anyhow::Error::from(other).context("cannot serve a store"),
    }
}

fn not_reached(Host { first, port, .. }: &Host, error: GroupError) -> anyhow::Error {
    let message = match error {
        GroupError::Store { message, .. } => message,
        other => other.to_string(),
    };
    anyhow::anyhow!(
        "cannot reach the store of the first host at {first}:{port}: {message}; expected its launcher, \
         --node-rank 0, within --connect-seconds"
    )
}

fn open(mailbox: &Mutex<Mailbox>) -> MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The launcher of another host, as last heard from.
struct Other {
    index: usize,
    beats: i64,
    heard: Instant,
}

/// The thread that talks to the store.
struct StoreThread {
    store: Store,
    events: Sender<LaunchEvent>,
    mailbox: Arc<Mutex<Mailbox>>,
    host: usize,
    has_told: bool,
    is_first_to_fail: bool,
    /// All hosts but host 0.
    others: Vec<Other>,
}

impl StoreThread {
    fn run(mut self) {
        loop {
            // Read this flag before the messages: whatever was reported before leaving is still sent.
            let is_leaving = open(&self.mailbox).is_leaving;
            match self.exchange(is_leaving) {
                Ok(true) => return,
                Ok(false) => thread::park_timeout(LOOK),
                Err(_) => {
                    // Host 0 keeps its store until all have left, so it died early.
                    let lost = "host 0, whose launcher serves the store, is gone".to_owned();
                    self.heard(lost);
                    return;
                }
            }
        }
    }

    /// Sends the pending messages and reads those of the others. Returns true once there is nobody left to wait for.
    fn exchange(&mut self, is_leaving: bool) -> Result<bool, GroupError> {
        self.store.add(&format!("beat/{}", self.host), 1)?;
        let failure = open(&self.mailbox).own.clone();
        if let Some(failure) = failure.filter(|_| !self.has_told) {
            self.has_told = true;
            if self.store.add("failures", 1)? == 1 {
                self.is_first_to_fail = true;
                self.store.set(FAILURE, format!("{failure}, on host {}", self.host).as_bytes())?;
            }
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
        for other in &mut self.others {
            let beats = self.store.add(&format!("beat/{}", other.index), 0)?;
            if beats != other.beats {
                (other.beats, other.heard) = (beats, Instant::now());
            }
            let has_left = self.store.is_set(&format!("left/{}", other.index))?;
            is_over &= has_left || other.heard.elapsed() > SILENCE;
        }
        Ok(is_over)
    }

    /// Records the failure of another host; only the first one counts.
    fn heard(&self, failure: String) {
        let mut mailbox = open(&self.mailbox);
        if mailbox.others.is_none() {
            mailbox.others = Some(failure.clone());
            // The launcher may no longer receive events.
            let _ = self.events.send(LaunchEvent::OtherHost(failure));
        }
    }
}
