//! Heartbeats between ranks through the store; all ranks end when one has gone.
//!
//! Two threads run beside the training thread. One talks to the store and may block for ever: rank 0 serves the store, and rank
//! 0 may have stopped. The other only checks what the first has seen, and when.

mod pulse;
mod shared;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use torch_ext::Store;

use super::status::Status;
use pulse::Pulse;
pub(super) use shared::Culprit;
use shared::{MISSED, Peer, Seen, Shared};

/// Longest time between two beats.
const BEAT: Duration = Duration::from_secs(1);
/// Longest silence of a rank that is alive.
const LONGEST_SILENCE: Duration = Duration::from_mins(1);
/// Longest first wait before stragglers are named; the wait doubles each time.
const FIRST_HINT: Duration = Duration::from_secs(30);
/// Divisor of the tolerated silence that bounds the first wait before stragglers are named.
const HINTS_PER_SILENCE: u32 = 4;

/// Ends this process, with a reason.
type End = Box<dyn Fn(&Culprit) + Send>;

/// The heartbeat watch of one rank.
#[derive(Debug)]
pub(super) struct Watch {
    shared: Arc<Shared>,
    judge: Thread,
    pulse: Thread,
}

impl Watch {
    /// Starts to send heartbeats and to listen for the others; `end` is called at most once.
    pub(super) fn start(
        store: Store,
        status: Arc<Mutex<Status>>,
        rank: usize,
        count: usize,
        timeout: Duration,
        end: End,
    ) -> std::io::Result<Self> {
        let silence = timeout.min(LONGEST_SILENCE);
        let now = Instant::now();
        let peer = |rank| Peer {
            beats: 0,
            status: Status { rank, phase: "starting".to_owned(), ..Status::default() },
            heard: now,
            is_known: false,
        };
        let seen = Seen {
            answered: now,
            is_lost: false,
            peers: (0..count).map(peer).collect(),
            failure: None,
            outbox: None,
            heard: 0,
            looks_at_all: false,
        };
        let shared = Arc::new(Shared {
            rank,
            beat: BEAT.min(silence / (2 * MISSED)),
            silence,
            status,
            seen: Mutex::new(seen),
            is_ending: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
            std::io::Result::Ok(thread.thread().clone())
        };
        let pulse = Pulse::new(store, Arc::clone(&shared));
        let pulse = spawn("heart-beat", Box::new(move || pulse.run()))?;
        let judged = Arc::clone(&shared);
        let judge = spawn("watch", Box::new(move || judged.judge(&end)))?;
        Ok(Self { shared, judge, pulse })
    }

    /// Ends the watch: the run is over, and no rank is missed from here on.
    pub(super) fn leave(&self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.judge.unpark();
        self.pulse.unpark();
    }

    /// Stops this rank's judge: the rank will report by itself why it ends.
    pub(super) fn take_over(&self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        self.judge.unpark();
    }

    /// Tells the others why this rank ends. The first rank, which may serve the store, waits until they know or are gone.
    pub(super) fn tell(&self, failure: &Culprit) {
        {
            let mut seen = self.shared.seen();
            seen.looks_at_all = true;
            seen.outbox = Some(failure.clone());
        }
        self.pulse.unpark();
        self.shared.wait_until(|seen| self.shared.is_told(seen));
    }

    /// Finds the rank to blame for a failed operation; waits a few heartbeats for it. `suspects` did not report when it failed.
    pub(super) fn culprit(&self, suspects: &[usize]) -> Option<Culprit> {
        let shared = &self.shared;
        shared.seen().looks_at_all = true;
        self.pulse.unpark();
        let patience = if suspects.is_empty() { shared.beat * MISSED } else { shared.gone_after() };
        shared.wait_until(|seen| {
            seen.failure.is_some() || shared.silent(seen, patience, Instant::now()).is_some()
        });
        let seen = shared.seen();
        let status = shared.own_status();
        let late = || {
            let behind = seen.peers.iter().filter(|peer| peer.is_known);
            let last = &behind.min_by_key(|peer| peer.status.operations)?.status;
            (last.operations < status.operations).then(|| Culprit {
                rank: last.rank,
                message: format!("rank {} has not come to it: {last}", last.rank),
            })
        };
        let silent = || shared.silent(&seen, patience, Instant::now());
        seen.failure.clone().or_else(silent).or_else(late)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    /// Watches until the run is over, or ends it.
    fn judge(&self, end: &End) {
        let first_hint = FIRST_HINT.min(self.silence / HINTS_PER_SILENCE);
        let (mut waits_since, mut hint) = ((0, Instant::now()), first_hint);
        while !self.is_ending.load(Ordering::SeqCst) {
            let status = self.own_status();
            let reason = {
                let seen = self.seen();
                let silent = || self.silent(&seen, self.silence, Instant::now());
                seen.failure.clone().or_else(silent)
            };
            if let Some(reason) = reason {
                if self.is_ending.swap(true, Ordering::SeqCst) {
                    return;
                }
                self.seen().outbox.get_or_insert_with(|| reason.clone());
                self.wait_until(|seen| self.is_told(seen));
                end(&Culprit { rank: reason.rank, message: format!("{status}: {reason}") });
                return;
            }
            if status.operation.is_none() || status.operations != waits_since.0 {
                (waits_since, hint) = ((status.operations, Instant::now()), first_hint);
            } else if self.rank == 0 && waits_since.1.elapsed() > hint {
                hint *= 2;
                self.name_stragglers(&status, waits_since.1.elapsed());
            }
            thread::park_timeout(self.beat / 4);
        }
    }

    /// Prints to standard error the ranks that this rank waits for.
    fn name_stragglers(&self, own: &Status, waited: Duration) {
        let seen = self.seen();
        let late = seen.peers.iter().filter(|peer| peer.is_known);
        let late = late.filter(|peer| peer.status.operations < own.operations);
        let late: Vec<String> = late.map(|peer| format!("  {}", peer.status)).collect();
        if !late.is_empty() {
            eprintln!(
                "{own} for {:.0} s; not there yet:\n{}",
                waited.as_secs_f64(),
                late.join("\n")
            );
        }
    }
}

#[cfg(test)]
mod tests;
