//! What the threads of a watch share: what was heard of the other ranks, and what there is to tell them.

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ranks::status::Status;

/// Beats that may be missed by a rank that is there.
pub(super) const MISSED: u32 = 4;

/// The rank that makes all fail, and how, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::ranks) struct Culprit {
    pub(in crate::ranks) rank: usize,
    pub(in crate::ranks) message: String,
}

impl Display for Culprit {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

/// What the threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) rank: usize,
    pub(super) beat: Duration,
    pub(super) silence: Duration,
    pub(super) status: Arc<Mutex<Status>>,
    pub(super) seen: Mutex<Seen>,
    /// Nobody needs to be ended any more: this rank is about to.
    pub(super) is_ending: AtomicBool,
    /// No more beats.
    pub(super) is_over: AtomicBool,
}

/// What the store has said.
#[derive(Debug)]
pub(super) struct Seen {
    /// When it last answered.
    pub(super) answered: Instant,
    /// It will not answer any more.
    pub(super) is_lost: bool,
    /// Every rank; one's own, and those that were not looked at, stay as they were.
    pub(super) peers: Vec<Peer>,
    /// Why the run ends, by whichever rank found out first.
    pub(super) failure: Option<Culprit>,
    /// The same, yet to be told.
    pub(super) outbox: Option<Culprit>,
    /// How many other ranks know.
    pub(super) heard: usize,
    /// Whether all peers are looked at, not only those that are this rank's to watch.
    pub(super) looks_at_all: bool,
}

/// Another rank, as last heard of.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) beats: u64,
    pub(super) status: Status,
    /// When a beat was new.
    pub(super) heard: Instant,
    /// Whether it was looked at at all.
    pub(super) is_known: bool,
}

impl Shared {
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn own_status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits, at most for what it takes to miss a rank and once more to be told.
    pub(super) fn wait_until(&self, done: impl Fn(&Seen) -> bool) {
        let deadline = Instant::now() + self.beat * (2 * MISSED);
        while Instant::now() < deadline && !done(&self.seen()) {
            thread::sleep(self.beat / 8);
        }
    }

    /// Silence after which a rank counts as gone, where there is reason to think so.
    pub(super) fn gone_after(&self) -> Duration {
        self.beat * 5 / 2
    }

    /// Whether all that are left know why the run ends, or cannot be told.
    pub(super) fn is_told(&self, seen: &Seen) -> bool {
        let gone = |peer: &&Peer| {
            peer.is_known && seen.answered.duration_since(peer.heard) > self.gone_after()
        };
        let awaited = if self.rank == 0 { seen.peers.len() - 1 } else { 0 };
        let told = seen.heard + seen.peers.iter().filter(gone).count();
        seen.is_lost || (seen.outbox.is_none() && told >= awaited)
    }

    /// The first rank of which nothing was heard for `patience` until `now`.
    pub(super) fn silent(&self, seen: &Seen, patience: Duration, now: Instant) -> Option<Culprit> {
        let gone = |peer: &Peer, since: Instant, verb: &str| {
            let (rank, last) = (peer.status.rank, &peer.status);
            let seconds = now.duration_since(since).as_secs_f64();
            let message = format!(
                "rank {rank} has not {verb} for {seconds:.1} s: it has died, is stopped or cut off; last seen: {last}"
            );
            Culprit { rank, message }
        };
        if self.rank > 0 && now.duration_since(seen.answered) > patience {
            return Some(gone(&seen.peers[0], seen.answered, "answered"));
        }
        // While the store does not answer, nobody is heard of.
        let silent =
            |peer: &&Peer| peer.is_known && seen.answered.duration_since(peer.heard) > patience;
        let peer = seen.peers.iter().find(silent)?;
        Some(gone(peer, peer.heard, "been heard of"))
    }
}
