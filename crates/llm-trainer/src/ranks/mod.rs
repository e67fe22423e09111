//! The processes of one run, and what they tell each other.
//!
//! Every rank holds what decides the run (data cursor, controllers, groups that wait) and works it out from the same numbers,
//! so there is no leader but for writing files. What differs is the share of the work: prompts, sequences, gradients.

mod error;
mod grid;
pub(crate) mod record;
mod status;
mod tensors;
mod watch;

use std::fmt::Display;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use torch_ext::distributed::{Operation, Traffic};
use torch_ext::{GroupError, GroupOptions, Placement, ProcessGroup};
use training_run::config::{Device as DeviceChoice, ParallelSection};

pub use error::RankError;
pub(crate) use error::between_ranks;
use error::{not_joined, suspects};
pub use grid::Grid;
use record::Record;
pub use status::Status;
pub use tensors::Exchange;
use watch::{Culprit, Watch};

use crate::one_line::one_line;

/// This process among those of the run.
#[derive(Debug, Clone)]
pub struct Ranks {
    /// `None` where there is one process.
    group: Option<Rc<ProcessGroup>>,
    status: Arc<Mutex<Status>>,
    watch: Option<Rc<Watch>>,
    /// Whether all ranks of the run call the same operations, so that they can be counted to see who is late.
    is_counted: bool,
    /// Whether what is started goes on while this rank computes.
    overlaps: bool,
}

impl Default for Ranks {
    fn default() -> Self {
        Self::single()
    }
}

impl Ranks {
    /// One process on its own: nothing is sent, and no bit is another.
    pub fn single() -> Self {
        Self { group: None, status: Arc::default(), watch: None, is_counted: true, overlaps: true }
    }

    /// The ranks that the environment describes ([`Placement::from_env`]), whose tensors lie where `device` says, and which wait
    /// for each other as long as `parallel` says.
    ///
    /// # Errors
    ///
    /// If the variables are wrong, there is no such device, or not all ranks come.
    pub fn from_env(device: DeviceChoice, parallel: &ParallelSection) -> anyhow::Result<Self> {
        let placement = Placement::from_env()?;
        if placement.world_size == 1 {
            return Ok(Self::single());
        }
        let local = (placement.local_rank, placement.local_world_size);
        let device = crate::device::resolve_beside(device, local)?;
        let timeout = Duration::from_secs(parallel.timeout_seconds);
        let connect_timeout = Duration::from_secs(parallel.connect_seconds);
        let options = GroupOptions { timeout, connect_timeout, device, ..GroupOptions::default() };
        let group = ProcessGroup::join(&placement, &options).map_err(not_joined)?;
        let (rank, count) = (group.rank(), group.world_size());
        let status = Status { rank, phase: "starting".to_owned(), ..Status::default() };
        let status = Arc::new(Mutex::new(status));
        let store = group.store().reconnect().and_then(|store| store.prefixed("watch"));
        let watch = Watch::start(store?, Arc::clone(&status), rank, count, timeout, Box::new(end))
            .context("cannot watch the other ranks")?;
        let (group, watch) = (Some(Rc::new(group)), Some(Rc::new(watch)));
        Ok(Self { group, status, watch, is_counted: true, overlaps: true })
    }

    /// The same with what is started waited for at once, for comparison, unless it `overlaps`.
    #[must_use]
    pub fn overlapping(self, overlaps: bool) -> Self {
        Self { overlaps, ..self }
    }

    /// What this process has sent and waited for so far, by operation; nothing where there is one.
    pub fn traffic(&self) -> Vec<(Operation, Traffic)> {
        self.group.as_ref().map_or_else(Vec::new, |group| group.traffic())
    }

    /// Some of these ranks, this one among them; all of those call it, with the same list.
    ///
    /// # Errors
    ///
    /// [`RankError::Operation`] if one of them does not come.
    pub(crate) fn among(&self, ranks: &[usize]) -> Result<Self, RankError> {
        let failed = |cause| RankError::Operation { status: Box::new(self.status()), cause };
        let group = match &self.group {
            Some(group) if ranks.len() == group.world_size() => Some(Rc::clone(group)),
            Some(group) if ranks.len() > 1 => {
                Some(Rc::new(group.sub_group(ranks).map_err(failed)?))
            }
            _ => None,
        };
        Ok(Self { group, watch: None, ..self.clone() })
    }

    /// Ends the run on this rank as it came out: every rank waits for the others, or tells them why they cannot go on.
    ///
    /// # Errors
    ///
    /// That of `outcome`, with where this rank stood and whose fault it is.
    pub fn conclude<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        let Some(watch) = &self.watch else { return outcome };
        let error = match outcome {
            Ok(outcome) => {
                // The first rank may serve the store: it must not go before the others have done with it.
                watch.leave();
                self.gather("the end", ())?;
                return Ok(outcome);
            }
            Err(error) => error,
        };
        watch.take_over();
        let error = match between_ranks(&error) {
            Some(RankError::Elsewhere { .. } | RankError::Differ { .. }) => error,
            Some(RankError::Operation { cause, .. }) => match watch.culprit(suspects(cause)) {
                Some(culprit) => {
                    watch.tell(&culprit);
                    error.context(culprit)
                }
                None => error,
            },
            _ => {
                let (rank, status) = (self.rank(), self.status());
                watch.tell(&Culprit { rank, message: format!("{status}: {}", one_line(&error)) });
                error.context(status.to_string())
            }
        };
        Record::new(one_line(&error), error::culprit(&error)).leave();
        Err(error)
    }

    /// Which one this is, from 0.
    pub fn rank(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.rank())
    }

    /// How many there are, at least 1.
    pub fn count(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.world_size())
    }

    /// Which one this is of how many on this machine.
    pub fn local(&self) -> (usize, usize) {
        let group = self.group.as_ref();
        group.map_or((0, 1), |group| (group.local_rank(), group.local_world_size()))
    }

    /// Whether this is the rank that writes files: 0.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// What this rank does from now on, for others to read should it not come on.
    pub fn enter(&self, step: u64, phase: &str) {
        if self.group.is_some() {
            self.change_status(|status| {
                status.step = step;
                phase.clone_into(&mut status.phase);
            });
        }
    }

    /// Where this rank stands.
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What every rank has to say, in their order.
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

    /// As [`gather`](Self::gather), where a rank may have failed: then all fail, this one by its own error if it has one.
    ///
    /// # Errors
    ///
    /// The own error, or [`RankError::Elsewhere`] with that of the first rank that has one.
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
            // All causes, where the error has a form for that.
            Err(error) => (Err(format!("{error:#}")), Some(error)),
        };
        let all: Vec<Result<T, String>> = self.gather(what, told)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let elsewhere =
            |(rank, told): (usize, Result<T, String>)| told.map_err(|message| (rank, message));
        let all: Result<Vec<T>, _> = all.into_iter().enumerate().map(elsewhere).collect();
        all.map_err(|(rank, message)| RankError::Elsewhere { rank, message }.into())
    }

    /// Waits for all ranks and fails where one has.
    ///
    /// # Errors
    ///
    /// As [`gather_ok`](Self::gather_ok).
    pub fn agree<T, E: Display + From<RankError>>(
        &self,
        what: &'static str,
        own: Result<T, E>,
    ) -> Result<T, E> {
        match own {
            Ok(value) => self.gather_ok(what, Ok::<(), E>(())).map(|_all| value),
            Err(error) => self.gather_ok(what, Err::<(), E>(error)).and_then(|_all| {
                // With an own error, `gather_ok` fails by it.
                Err(RankError::Message { what, message: "failed".to_owned() }.into())
            }),
        }
    }

    /// Whether each flag is up on any rank.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather).
    pub fn any<const N: usize>(
        &self,
        what: &'static str,
        own: [bool; N],
    ) -> Result<[bool; N], RankError> {
        let mut any = own;
        for flags in self.gather(what, own.to_vec())? {
            for (any, flag) in any.iter_mut().zip(flags) {
                *any |= flag;
            }
        }
        Ok(any)
    }

    /// Makes sure that all ranks have the same.
    ///
    /// # Errors
    ///
    /// [`RankError::Differ`] where one has not.
    pub fn same(&self, what: &'static str, own: &str) -> Result<(), RankError> {
        let all = self.gather(what, own.to_owned())?;
        match all.iter().position(|found| *found != all[0]) {
            None => Ok(()),
            Some(rank) => {
                let (found, expected) = (all[rank].clone(), all[0].clone());
                Err(RankError::Differ { what: what.to_owned(), rank, found, expected })
            }
        }
    }

    /// The numbers of every rank, in their order.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather).
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

    /// The sum of a number over the ranks, in their order: the same bits on each.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather).
    pub fn total(&self, what: &'static str, own: f64) -> Result<f64, RankError> {
        Ok(self.gather_column(what, &[own])?.concat().iter().sum())
    }

    /// Runs one operation between ranks; its failure says where this rank stood.
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

    /// An operation between ranks begins.
    fn begin(&self, what: String) {
        if self.is_counted {
            self.change_status(|status| status.operations += 1);
        }
        self.begin_again(what);
    }

    /// This rank waits for an operation that has begun before.
    fn begin_again(&self, what: String) {
        self.change_status(|status| status.operation = Some(what));
    }

    /// An operation between ranks has come to its end, or failed where this rank stands.
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

/// Ends this process at once: the thread that trains may wait for a rank that does not come.
fn end(reason: &Culprit) {
    eprintln!("error: {reason}");
    Record::new(reason.to_string(), Some(reason.rank)).leave();
    signal_hook::low_level::exit(2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_needs_nobody() {
        let ranks = Ranks::single();
        assert_eq!((ranks.rank(), ranks.count(), ranks.is_first()), (0, 1, true));
        assert_eq!(ranks.gather("a number", 7).unwrap(), [7]);
        assert_eq!(ranks.any("flags", [true, false]).unwrap(), [true, false]);
        assert_eq!(ranks.gather_column("numbers", &[f64::NAN]).unwrap().len(), 1);
        ranks.same("the weights", "a").unwrap();
        let failed: Result<(), RankError> =
            Err(RankError::Message { what: "it", message: "no".to_owned() });
        assert_eq!(ranks.agree("it", failed).unwrap_err().to_string(), "it between ranks: no");
    }
}
