//! The rollouts that a server records, by their ids.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{ApiError, LONGEST_ID};
use super::recording::Recording;

#[derive(Debug)]
pub(crate) struct Rollouts {
    /// Most rollouts that clients may begin; further ones are refused until some are deleted. `None` where a training run begins all.
    most: Option<usize>,
    by_id: Mutex<BTreeMap<String, Recording>>,
}

impl Rollouts {
    /// Keeps at most so many rollouts, each begun by its first request, or those of a training run, which begins them itself.
    pub(crate) fn keeping(most: Option<usize>) -> Self {
        Self { most, by_id: Mutex::default() }
    }

    /// True if a training run begins all rollouts.
    pub(super) fn are_of_run(&self) -> bool {
        self.most.is_none()
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
        let Some(most) = self.most.filter(|_| begins && is_id(id)) else {
            return Err(ApiError::unknown_rollout(id));
        };
        if open.len() >= most {
            return Err(ApiError::many_rollouts(most));
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
