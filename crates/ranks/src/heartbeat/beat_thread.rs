//! The thread that talks to the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use torch_ext::{GroupError, Store};

use super::shared::Shared;
use crate::status::Status;

const FAILURE: &str = "failure";

/// Sends heartbeats, listens, and passes failures on.
#[derive(Debug)]
pub(super) struct BeatThread {
    pub(super) store: Store,
    pub(super) shared: Arc<Shared>,
    pub(super) beats: u64,
    /// True once this rank has confirmed that it knows of a failure.
    pub(super) has_told: bool,
}

impl BeatThread {
    /// Runs until the run is over or the store is gone: a broken connection to it does not come back.
    pub(super) fn run(mut self) {
        while !self.shared.is_over.load(Ordering::SeqCst) {
            if self.exchange().is_err() {
                self.shared.observations().is_lost = true;
                return;
            }
            self.shared.observations().answered = Instant::now();
            thread::park_timeout(self.shared.beat);
        }
    }

    fn exchange(&mut self) -> Result<(), GroupError> {
        let (rank, count) = (self.shared.rank, self.shared.observations().peers.len());
        self.beats += 1;
        let beat = serde_json::to_vec(&(self.beats, self.shared.own_status()));
        self.store.set(&beat_key(rank), &beat.expect("numbers and texts are JSON"))?;
        self.pass_failures_on()?;
        let looks_at_all = rank == 0 || self.shared.observations().looks_at_all;
        for peer in (0..count).filter(|&peer| peer != rank && (peer == 0 || looks_at_all)) {
            let Some(bytes) = self.store.get_if_set(&beat_key(peer))? else { continue };
            let Ok((beats, status)) = serde_json::from_slice::<(u64, Status)>(&bytes) else {
                continue;
            };
            let peer = &mut self.shared.observations().peers[peer];
            if beats != peer.beats {
                (peer.beats, peer.heard) = (beats, Instant::now());
                peer.status = status;
            }
        }
        Ok(())
    }

    /// Passes failures on. The first failure stays; every rank that knows of it confirms it.
    fn pass_failures_on(&mut self) -> Result<(), GroupError> {
        let outbox = self.shared.observations().outbox.clone();
        if let Some(failure) = &outbox
            && !self.store.is_set(FAILURE)?
        {
            let bytes = serde_json::to_vec(failure).expect("numbers and texts are JSON");
            self.store.set(FAILURE, &bytes)?;
        }
        let Some(failure) = self.store.get_if_set(FAILURE)? else { return Ok(()) };
        if !self.has_told {
            self.store.add("heard", 1)?;
            self.has_told = true;
        }
        // This rank is among those that know.
        let heard = self.store.add("heard", 0)?.saturating_sub(1);
        let mut observations = self.shared.observations();
        observations.failure = serde_json::from_slice(&failure).ok();
        observations.heard = usize::try_from(heard).unwrap_or(0);
        if observations.outbox == outbox {
            observations.outbox = None;
        }
        Ok(())
    }
}

fn beat_key(rank: usize) -> String {
    format!("beat/{rank}")
}
