//! Heartbeats between ranks through the store; all ranks end when one has gone.
//!
//! Two threads run beside the training thread. One talks to the store and may block for ever: rank 0 serves the store, and rank
//! 0 may have stopped. The other only checks what the first has seen, and when.

mod beat_thread;
mod shared;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use torch_ext::Store;

use super::status::Status;
use beat_thread::BeatThread;
pub(super) use shared::Culprit;
use shared::{MISSED, Observations, Peer, Shared};

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

#[derive(Debug)]
pub(super) struct HeartbeatMonitor {
    shared: Arc<Shared>,
    judge: Thread,
    beat_thread: Thread,
}

impl HeartbeatMonitor {
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
        };
        let observations = Observations {
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
            observations: Mutex::new(observations),
            is_ending: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
            std::io::Result::Ok(thread.thread().clone())
        };
        let beating = Arc::clone(&shared);
        let beat_thread = BeatThread { store, shared: beating, beats: 0, has_told: false };
        let beat_thread = spawn("heart-beat", Box::new(move || beat_thread.run()))?;
        let judged = Arc::clone(&shared);
        let judge = spawn("watch", Box::new(move || judged.judge(&end)))?;
        Ok(Self { shared, judge, beat_thread })
    }

    /// Ends the monitor: the run is over, and no rank is missed from here on.
    pub(super) fn stop(&self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.judge.unpark();
        self.beat_thread.unpark();
    }

    /// Stops this rank's judge: the rank will report by itself why it ends.
    pub(super) fn take_over(&self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        self.judge.unpark();
    }

    /// Tells the others why this rank ends. The first rank, which may serve the store, waits until they know or are gone.
    pub(super) fn tell(&self, failure: &Culprit) {
        {
            let mut observations = self.shared.observations();
            observations.looks_at_all = true;
            observations.outbox = Some(failure.clone());
        }
        self.beat_thread.unpark();
        self.shared.wait_until(|observations| self.shared.is_told(observations));
    }

    /// Finds the rank to blame for a failed operation; waits a few heartbeats for it. `suspects` did not report when it failed.
    pub(super) fn culprit(&self, suspects: &[usize]) -> Option<Culprit> {
        let shared = &self.shared;
        shared.observations().looks_at_all = true;
        self.beat_thread.unpark();
        let patience = if suspects.is_empty() { shared.beat * MISSED } else { shared.gone_after() };
        shared.wait_until(|observations| {
            observations.failure.is_some()
                || shared.silent(observations, patience, Instant::now()).is_some()
        });
        let observations = shared.observations();
        let status = shared.own_status();
        let late = || {
            let behind = observations.peers.iter().filter(|peer| peer.beats > 0);
            let last = &behind.min_by_key(|peer| peer.status.operations)?.status;
            (last.operations < status.operations).then(|| Culprit {
                rank: last.rank,
                message: format!("rank {} has not come to it: {last}", last.rank),
            })
        };
        let silent = || shared.silent(&observations, patience, Instant::now());
        observations.failure.clone().or_else(silent).or_else(late)
    }
}

impl Drop for HeartbeatMonitor {
    fn drop(&mut self) {
        self.stop();
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
                let observations = self.observations();
                let silent = || self.silent(&observations, self.silence, Instant::now());
                observations.failure.clone().or_else(silent)
            };
            if let Some(reason) = reason {
                if self.is_ending.swap(true, Ordering::SeqCst) {
                    return;
                }
                self.observations().outbox.get_or_insert_with(|| reason.clone());
                self.wait_until(|observations| self.is_told(observations));
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
        let observations = self.observations();
        let late = self.stragglers(&observations, own);
        let late: Vec<String> = late.iter().map(|peer| format!("  {}", peer.status)).collect();
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
