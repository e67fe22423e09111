//! The processes of one run and the communication between them.
//!
//! Every rank holds the state that decides the run (data cursor, controllers, waiting groups) and computes it from the same
//! numbers. There is no leader, except for writing files. Only the work differs: prompts, sequences, gradients.

pub mod device;
mod device_mesh;
mod error;
mod heartbeat;
pub mod record;
mod status;
mod tensors;

use std::fmt::Display;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use messages::one_line;
use model_files::device::Device as DeviceChoice;
use serde::Serialize;
use serde::de::DeserializeOwned;
use torch_ext::distributed::{GroupOperation, Traffic};
use torch_ext::{GroupError, GroupOptions, Placement, ProcessGroup};

use device::LocalRank;
pub use device_mesh::DeviceMesh;
pub use error::RankError;
pub use error::between_ranks;
use error::{not_joined, suspects};
use heartbeat::{Culprit, HeartbeatMonitor};
use record::Record;
pub use status::Status;
pub use tensors::Exchange;

/// This process among the ranks of the run.
#[derive(Debug, Clone)]
pub struct Ranks {
    /// `None` with a single process.
    group: Option<Rc<ProcessGroup>>,
    status: Arc<Mutex<Status>>,
    monitor: Option<Rc<HeartbeatMonitor>>,
    /// True if all ranks of the run call the same operations. They are then counted, which shows which rank is late.
    is_counted: bool,
    /// True if operations that were started overlap with this rank's computation.
    overlaps: bool,
}

impl Ranks {
    /// A single process: nothing is sent, and results are bit-identical.
    pub fn single() -> Self {
        Self {
            group: None,
            status: Arc::default(),
            monitor: None,
            is_counted: true,
            overlaps: true,
        }
    }

    /// The ranks that the environment describes ([`Placement::from_env`]). Their tensors are on `device`. They wait
    /// `timeout` for each other, and `connect_timeout` for the store when they join.
    ///
    /// # Errors
    ///
    /// If the variables are wrong, there is no such device, or some ranks do not join.
    pub fn from_env(
        device: DeviceChoice,
        timeout: Duration,
        connect_timeout: Duration,
    ) -> anyhow::Result<Self> {
        let placement = Placement::from_env()?;
        if placement.world_size == 1 {
            return Ok(Self::single());
        }
        let local = LocalRank { index: placement.local_rank, count: placement.local_world_size };
        let device = device::resolve_beside(device, local)?;
        let options = GroupOptions { timeout, connect_timeout, device };
        let group = ProcessGroup::join(&placement, &options).map_err(not_joined)?;
        let (rank, count) = (group.rank(), group.world_size());
        let status = Status { rank, phase: "starting".to_owned(), ..Status::default() };
        let status = Arc::new(Mutex::new(status));
        let store = group.store().reconnect().and_then(|store| store.prefixed("watch"));
        let shared = Arc::clone(&status);
        let monitor = HeartbeatMonitor::start(store?, shared, rank, count, timeout, Box::new(end))
            .context("cannot watch the other ranks")?;
        let (group, monitor) = (Some(Rc::new(group)), Some(Rc::new(monitor)));
        Ok(Self { group, status, monitor, is_counted: true, overlaps: true })
    }

    /// Sets whether started operations overlap with computation; if not, each is waited for at once (for comparison).
    #[must_use]
    pub fn overlapping(self, overlaps: bool) -> Self {
        Self { overlaps, ..self }
    }

    /// Bytes sent and time waited by this process so far, by operation; empty for a single process.
    pub fn traffic(&self) -> Vec<(GroupOperation, Traffic)> {
        self.group.as_ref().map_or_else(Vec::new, |group| group.traffic())
    }

    /// A group of some of these ranks, this one included. All ranks of the group call it with the same list.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`] if one of the ranks does not join.
    pub fn among(&self, ranks: &[usize]) -> Result<Self, RankError> {
        let failed = |cause| RankError::Operation { status: Box::new(self.status()), cause };
        let group = match &self.group {
            Some(group) if ranks.len() == group.world_size() => Some(Rc::clone(group)),
            Some(group) if ranks.len() > 1 => {
                Some(Rc::new(group.sub_group(ranks).map_err(failed)?))
            }
            _ => None,
        };
        Ok(Self { group, monitor: None, ..self.clone() })
    }

    /// Ends the run on this rank with `outcome`: it waits for the other ranks, or tells them why it fails.
    ///
    /// # Errors
    ///
    /// The error of `outcome`, with this rank's state and the rank to blame.
    pub fn conclude<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        let Some(monitor) = &self.monitor else { return outcome };
        let error = match outcome {
            Ok(outcome) => {
                // The first rank may serve the store: it must not end before the others are done with it.
                monitor.stop();
                self.gather("the end", ())?;
                return Ok(outcome);
            }
            Err(error) => error,
        };
        monitor.take_over();
        let error = match between_ranks(&error) {
            Some(RankError::Elsewhere { .. } | RankError::Differ { .. }) => error,
            Some(RankError::Operation { cause, .. }) => match monitor.culprit(suspects(cause)) {
                Some(culprit) => {
                    monitor.tell(&culprit);
                    error.context(culprit)
                }
                None => error,
            },
            _ => {
                let (rank, status) = (self.rank(), self.status());
                let message = format!("{status}: {}", one_line(error.as_ref()));
                monitor.tell(&Culprit { rank, message });
                error.context(status.to_string())
            }
        };
        Record::new(one_line(error.as_ref()), error::culprit(&error)).report();
        Err(error)
    }

    /// Rank of this process, from 0.
    pub fn rank(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.rank())
    }

    /// Number of ranks, at least 1.
    pub fn count(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.world_size())
    }

    /// The place of this rank among those of its machine.
    pub fn local(&self) -> LocalRank {
        let Some(group) = &self.group else { return LocalRank::ALONE };
        let placement = group.placement();
        LocalRank { index: placement.local_rank, count: placement.local_world_size }
    }

    /// Returns true for rank 0, which writes files.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Records the step and phase that this rank enters, for other ranks to report if it stops.
    pub fn enter(&self, step: u64, phase: &str) {
        if self.group.is_some() {
            self.change_status(|status| {
                status.step = step;
                phase.clone_into(&mut status.phase);
            });
        }
    }

    /// The current status of this rank.
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gathers a value from every rank, in rank order.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank does not answer.
    pub fn gather<T: Serialize + DeserializeOwned>(
        &self,
        what: &'static str,
        own: T,
    ) -> Result<Vec<T>, RankError> {
        let Some(group) = &self.group else { return Ok(vec![own]) };
        let fault = |message: String| RankError::Message { what, message };
        let mut bytes = Vec::new();
        ciborium::into_writer(&own, &mut bytes).map_err(|error| fault(error.to_string()))?;
        let all = self.operation(what, bytes.len(), || group.all_gather_bytes(&bytes))?;
        all.iter()
            .map(|bytes| ciborium::from_reader(bytes.as_slice()))
            .collect::<Result<_, _>>()
            .map_err(|error| fault(error.to_string()))
    }

    /// Gathers like [`gather`](Self::gather), where a rank may have failed. Then all ranks fail, each with its own error if it
    /// has one.
    ///
    /// # Errors
    ///
    /// This rank's own error, or [`RankError::Elsewhere`] with the error of the first failed rank.
    pub fn gather_ok<T, E>(&self, what: &'static str, own: Result<T, E>) -> Result<Vec<T>, E>
    where
        T: Serialize + DeserializeOwned,
        E: Display + From<RankError>,
    {
        if self.group.is_none() {
            return Ok(vec![own?]);
        }
        let (told, failed) = match own {
            Ok(value) => (Ok(value), None),
            // The alternate form prints all causes where the error has one.
            Err(error) => (Err(format!("{error:#}")), Some(error)),
        };
        let all: Vec<Result<T, String>> = self.gather(what, told)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let elsewhere = |(rank, told): (usize, Result<T, String>)| {
            told.map_err(|message| RankError::Elsewhere { rank, message }.into())
        };
        all.into_iter().enumerate().map(elsewhere).collect()
    }

    /// Waits for all ranks and fails if one of them has failed.
    ///
    /// # Errors
    ///
    /// The errors of [`gather_ok`](Self::gather_ok).
    pub fn agree<T, E: Display + From<RankError>>(
        &self,
        what: &'static str,
        own: Result<T, E>,
    ) -> Result<T, E> {
        match own {
            Ok(value) => self.gather_ok(what, Ok::<(), E>(())).map(|_all| value),
            Err(error) => self.gather_ok(what, Err::<(), E>(error)).and_then(|_all| {
                // With its own error, `gather_ok` fails by that.
                Err(RankError::Message { what, message: "failed".to_owned() }.into())
            }),
        }
    }

    /// Returns, for each flag, true if any rank has set it.
    ///
    /// # Errors
    ///
    /// The errors of [`gather`](Self::gather).
    pub fn any<const N: usize>(
        &self,
        what: &'static str,
        own: [bool; N],
    ) -> Result<[bool; N], RankError> {
        let all = self.gather(what, own.to_vec())?;
        Ok(std::array::from_fn(|flag| all.iter().any(|flags| flags[flag])))
    }

    /// Checks that all ranks have the same value.
    ///
    /// # Errors
    ///
    /// [`RankError::Differ`] if one has another value.
    pub fn same(&self, what: &'static str, own: &str) -> Result<(), RankError> {
        let all = self.gather(what, own.to_owned())?;
        let Some(rank) = all.iter().position(|value| *value != all[0]) else { return Ok(()) };
        let (what, expected) = (what.to_owned(), all[0].clone());
        Err(RankError::Differ { what, rank, found: all[rank].clone(), expected })
    }

    /// Gathers the numbers of every rank, in rank order.
    ///
    /// # Errors
    ///
    /// The errors of [`gather`](Self::gather).
    pub fn gather_column(
        &self,
        what: &'static str,
        own: &[f64],
    ) -> Result<Vec<Vec<f64>>, RankError> {
        let Some(group) = &self.group else { return Ok(vec![own.to_vec()]) };
        let bytes: Vec<u8> = own.iter().flat_map(|value| value.to_le_bytes()).collect();
        let all = self.operation(what, bytes.len(), || group.all_gather_bytes(&bytes))?;
        let numbers = |bytes: Vec<u8>| {
            let (words, _none) = bytes.as_chunks::<8>();
            words.iter().map(|word| f64::from_le_bytes(*word)).collect()
        };
        Ok(all.into_iter().map(numbers).collect())
    }

    /// The sum of a number over the ranks, added in rank order: the same bits on each rank.
    ///
    /// # Errors
    ///
    /// The errors of [`gather`](Self::gather).
    pub fn total(&self, what: &'static str, own: f64) -> Result<f64, RankError> {
        Ok(self.gather_column(what, &[own])?.concat().iter().sum())
    }

    /// Runs one operation between ranks; its error carries this rank's status.
    fn operation<T>(
        &self,
        what: &str,
        bytes: usize,
        run: impl FnOnce() -> Result<T, GroupError>,
    ) -> Result<T, RankError> {
        if self.is_counted {
            self.begin(format!("{what}, {bytes} bytes"));
            return self.ended(run());
        }
        run().map_err(|cause| {
            self.begin_again(format!("{what}, {bytes} bytes"));
            RankError::Operation { status: Box::new(self.status()), cause }
        })
    }

    /// Records that an operation between ranks begins, and counts it.
    fn begin(&self, what: String) {
        if self.is_counted {
            self.change_status(|status| status.operations += 1);
        }
        self.begin_again(what);
    }

    /// Records that this rank waits for an operation that has begun before.
    fn begin_again(&self, what: String) {
        self.change_status(|status| status.operation = Some(what));
    }

    /// Records that an operation between ranks has ended; a failure carries this rank's status.
    fn ended<T>(&self, outcome: Result<T, GroupError>) -> Result<T, RankError> {
        let status = Box::new(self.status());
        let outcome = outcome.map_err(|cause| RankError::Operation { status, cause })?;
        self.change_status(|status| status.operation = None);
        Ok(outcome)
    }

    fn change_status(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Ends this process at once: the training thread may be waiting for a rank that never comes.
fn end(reason: &Culprit) {
    eprintln!("error: {reason}");
    Record::new(reason.to_string(), Some(reason.rank)).report();
    signal_hook::low_level::exit(2);
}
