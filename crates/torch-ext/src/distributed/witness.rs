//! Who has not said that it failed: that is the rank to look at.

use std::fmt;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::operation::Call;
use super::store::Store;

/// How long the ranks that failed wait for each other's word. They hear of a failure almost at once, as each that does
/// closes its connections; on a crowded machine they may still take seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// A store whose server is stopped does not answer at all; one whose server ends first answers no more.
const SLACK: Duration = Duration::from_secs(1);
/// How often they look.
const LOOK: Duration = Duration::from_millis(20);

/// What a rank says in the store of the run when an operation of it fails.
pub(super) struct Witness {
    store: Store,
    rank: usize,
    /// The rank whose process serves the store; `None` if the launcher's does.
    server: Option<usize>,
    /// Asked once: the connections stay closed.
    silent: OnceLock<Vec<usize>>,
}

impl Witness {
    pub(super) fn new(store: Store, rank: usize, server: Option<usize>) -> Arc<Self> {
        Arc::new(Self { store, rank, server, silent: OnceLock::new() })
    }

    /// Says that `call` failed, closes its connections so that every rank fails that waits for another, and returns those
    /// of the call that say nothing.
    pub(super) fn silent(
        self: &Arc<Self>,
        call: &Call,
        message: &str,
        connection: &Arc<Connection>,
    ) -> Vec<usize> {
        let ask = || {
            let (sender, receiver) = channel();
            let (witness, connection) = (Arc::clone(self), Arc::clone(connection));
            let (report, members) = (format!("{call}: {message}"), call.ranks());
            // In threads that may be left behind: connections close when what is queued has ended, and c10d's client
            // waits without end for a server that is stopped.
            std::thread::spawn(move || connection.close());
            std::thread::spawn(move || sender.send(witness.ask(&report, &members)));
            let heard = receiver.recv_timeout(PATIENCE + SLACK).ok().flatten();
            if self.server == Some(self.rank) {
                // The others ask until then.
                std::thread::sleep(SLACK);
            }
            heard.unwrap_or_else(|| {
                self.server.filter(|&rank| rank != self.rank).into_iter().collect()
            })
        };
        self.silent.get_or_init(ask).clone()
    }

    /// `None` if the store itself is lost before anything is known.
    fn ask(&self, report: &str, members: &[usize]) -> Option<Vec<usize>> {
        let deadline = Instant::now() + PATIENCE;
        self.store.set(&key(self.rank), report.as_bytes()).ok()?;
        let mut silent = members.to_vec();
        loop {
            let is_over = Instant::now() >= deadline;
            let mut no_store = false;
            silent.retain(|&rank| {
                let answer = self.store.is_set(&key(rank));
                no_store |= answer.is_err();
                !answer.unwrap_or(false)
            });
            if no_store && silent.contains(&self.rank) {
                return None;
            }
            if no_store || is_over || silent.is_empty() {
                return Some(silent);
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn key(rank: usize) -> String {
    format!("failed/{rank}")
}

impl fmt::Debug for Witness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Witness").field("rank", &self.rank).finish_non_exhaustive()
    }
}
