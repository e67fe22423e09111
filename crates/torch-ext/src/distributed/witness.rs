//! Finds the ranks that did not report a failure: those are the ones to look at.

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::operation::Call;
use super::store::Store;

/// Time that failed ranks wait for each other's report. They notice a failure almost at once, as each failed rank closes its
/// connections; on a crowded machine they may still take seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// Extra time for the store: a stopped server does not answer at all, and one that ends first answers no more.
const SLACK: Duration = Duration::from_secs(1);
/// Interval between looks into the store.
const LOOK: Duration = Duration::from_millis(20);

/// Reports a rank's failed operation in the store of the run.
#[derive(Debug)]
pub(super) struct Witness {
    store: Store,
    rank: usize,
    /// The rank whose process serves the store; `None` if the launcher's does.
    server: Option<usize>,
    /// Found once: the connections stay closed.
    silent: OnceLock<Vec<usize>>,
}

impl Witness {
    pub(super) fn new(store: Store, rank: usize, server: Option<usize>) -> Arc<Self> {
        Arc::new(Self { store, rank, server, silent: OnceLock::new() })
    }

    /// Reports that `call` failed and closes its connections, so that every rank that waits for another fails. Returns the
    /// ranks of the call that do not report.
    pub(super) fn silent(
        self: &Arc<Self>,
        call: &Call,
        report: &str,
        connection: &Arc<Connection>,
    ) -> Vec<usize> {
        let ask = || {
            let (sender, receiver) = channel();
            let (witness, connection) = (Arc::clone(self), Arc::clone(connection));
            let (report, members) = (report.to_owned(), call.ranks());
            // These threads may be left behind: connections close when queued operations have ended, and c10d's client waits
            // without end for a stopped server.
            std::thread::spawn(move || connection.close());
            std::thread::spawn(move || sender.send(witness.ask(&report, &members)));
            let heard = receiver.recv_timeout(PATIENCE + SLACK).ok().flatten();
            if self.server == Some(self.rank) {
                // The other ranks ask until then.
                std::thread::sleep(SLACK);
            }
            heard.unwrap_or_else(|| {
                self.server.filter(|&rank| rank != self.rank).into_iter().collect()
            })
        };
        self.silent.get_or_init(ask).clone()
    }

    /// The ranks that do not report; `None` if the store is lost before anything is known.
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
