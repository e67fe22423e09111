//! State shared by the threads of a monitor: what was heard from the other ranks, and what to tell them.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::status::Status;

/// Heartbeats that a rank that is alive may miss.
pub(super) const MISSED: u32 = 4;

/// The rank that makes all ranks fail, and how, in words.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message}")]
pub(crate) struct Culprit {
    pub(crate) rank: usize,
    pub(crate) message: String,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) rank: usize,
    pub(super) beat: Duration,
    pub(super) silence: Duration,
    pub(super) status: Arc<Mutex<Status>>,
    pub(super) observations: Mutex<Observations>,
    /// True once this rank is about to end: no other thread needs to end it.
    pub(super) is_ending: AtomicBool,
    /// True once no more heartbeats are sent.
    pub(super) is_over: AtomicBool,
}

/// Information read from the store.
#[derive(Debug)]
pub(super) struct Observations {
    /// Time of the store's last answer.
    pub(super) answered: Instant,
    /// True once the store will not answer any more.
    pub(super) is_lost: bool,
    /// Every rank. This rank, and ranks that were not looked at, stay as they were.
    pub(super) peers: Vec<Peer>,
    /// Reason why the run ends, from whichever rank found it first.
    pub(super) failure: Option<Culprit>,
    /// Reason why the run ends, not yet sent.
    pub(super) outbox: Option<Culprit>,
    /// Number of other ranks that know the failure.
    pub(super) heard: usize,
    /// True if all peers are watched, not only those assigned to this rank.
    pub(super) looks_at_all: bool,
}

/// Another rank, as last heard from.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Number of its last heartbeat; 0 before one was read.
    pub(super) beats: u64,
    pub(super) status: Status,
    /// Time of the last new heartbeat.
    pub(super) heard: Instant,
}

impl Observations {
    /// Returns true if a rank that was heard of has been silent for longer than `patience`. While the store does not answer, nothing is
    /// heard from anybody.
    fn is_silent(&self, peer: &Peer, patience: Duration) -> bool {
        peer.beats > 0 && self.answered.duration_since(peer.heard) > patience
    }
}

impl Shared {
    pub(super) fn observations(&self) -> MutexGuard<'_, Observations> {
        self.observations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn own_status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `done`, at most for the time to miss a rank and once more to be told.
    pub(super) fn wait_until(&self, done: impl Fn(&Observations) -> bool) {
        let deadline = Instant::now() + self.beat * (2 * MISSED);
        while Instant::now() < deadline && !done(&self.observations()) {
            thread::sleep(self.beat / 8);
        }
    }

    /// Silence after which a rank counts as gone, if there is reason to suspect it.
    pub(super) fn gone_after(&self) -> Duration {
        self.beat * 5 / 2
    }

    /// Returns true once all remaining ranks know why the run ends, or cannot be told.
    pub(super) fn is_told(&self, observations: &Observations) -> bool {
        let gone = |peer: &&Peer| observations.is_silent(peer, self.gone_after());
        let awaited = if self.rank == 0 { observations.peers.len() - 1 } else { 0 };
        let told = observations.heard + observations.peers.iter().filter(gone).count();
        observations.is_lost || (observations.outbox.is_none() && told >= awaited)
    }

    /// Ranks that are behind a rank, and those that fell silent, maybe in the midst of the same operation.
    pub(super) fn stragglers<'a>(
        &self,
        observations: &'a Observations,
        own: &Status,
    ) -> Vec<&'a Peer> {
        let patience = self.beat * MISSED;
        let is_late = |peer: &&Peer| {
            let is_behind = peer.beats > 0 && peer.status.operations < own.operations;
            is_behind || observations.is_silent(peer, patience)
        };
        observations.peers.iter().filter(is_late).collect()
    }

    /// The first rank that was silent for `patience` until `now`.
    pub(super) fn silent(
        &self,
        observations: &Observations,
        patience: Duration,
        now: Instant,
    ) -> Option<Culprit> {
        let gone = |peer: &Peer, since: Instant, verb: &str| {
            let (rank, last) = (peer.status.rank, &peer.status);
            let seconds = now.duration_since(since).as_secs_f64();
            let message = format!(
                "rank {rank} has not {verb} for {seconds:.1} s: it has died, is stopped or cut off; last seen: {last}"
            );
            Culprit { rank, message }
        };
        if self.rank > 0 && now.duration_since(observations.answered) > patience {
            return Some(gone(&observations.peers[0], observations.answered, "answered"));
        }
        let peer = observations.peers.iter().find(|peer| observations.is_silent(peer, patience))?;
        Some(gone(peer, peer.heard, "been heard of"))
    }
}
