//! The rollouts that a server records, by their ids.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{ApiError, LONGEST_ID};
use super::recording::Recording;

/// Bounds of a training run's rollouts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Terms {
    /// Most tokens drawn at one request.
    pub(crate) longest_turn: usize,
    /// Most requests of a rollout.
    pub(crate) turns: u64,
    /// Texts that end a response, besides those of the request.
    pub(crate) stop: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Rollouts {
    /// Most rollouts that clients may begin; further ones are refused until some are deleted.
    most: usize,
    /// Bounds of the training run, if there is one.
    pub(super) terms: Option<Terms>,
    by_id: Mutex<BTreeMap<String, Recording>>,
}

impl Rollouts {
    /// Keeps at most so many rollouts, each begun by its first request.
    pub(crate) fn keeping(most: usize) -> Self {
        Self { most, terms: None, by_id: Mutex::default() }
    }

    /// Records the rollouts of a training run, which begins them itself.
    pub(crate) fn of_run(terms: Terms) -> Self {
        Self { most: 0, terms: Some(terms), by_id: Mutex::default() }
    }

    /// Begins a rollout of the training run.
    pub(crate) fn begin(&self, id: String, recording: Recording) {
        self.open().insert(id, recording);
    }

    /// Ends a rollout; `None` if there is none of this id.
    pub(crate) fn end(&self, id: &str) -> Option<Recording> {
        self.open().remove(id)
    }

    /// Calls `use_it` with a rollout; where clients begin rollouts and `begins` is true, an unknown id begins one.
    pub(super) fn with<T>(
        &self,
        id: &str,
        begins: bool,
        use_it: impl FnOnce(&mut Recording) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut open = self.open();
        if let Some(recording) = open.get_mut(id) {
            return use_it(recording);
        }
        if !begins || self.terms.is_some() || !is_id(id) {
            return Err(ApiError::unknown_rollout(id));
        }
        if open.len() >= self.most {
            return Err(ApiError::many_rollouts(self.most));
        }
        // A request that is refused begins nothing.
        let mut recording = Recording::default();
        let outcome = use_it(&mut recording)?;
        open.insert(id.to_owned(), recording);
        Ok(outcome)
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Recording>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(is_plain)
}
