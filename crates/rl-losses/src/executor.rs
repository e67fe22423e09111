//! Who runs the pieces of a large batch.

/// Runs independent pieces of work; the crate starts no thread of its own.
///
/// Results do not depend on the executor: pieces are cut at fixed places and their results put
/// together in order. Over rayon:
///
/// ```
/// struct Rayon;
///
/// impl rl_losses::Executor for Rayon {
///     fn threads(&self) -> usize {
///         2 // rayon::current_num_threads()
///     }
///
///     fn map<J: Send, T: Send>(&self, jobs: Vec<J>, work: impl Fn(J) -> T + Send + Sync) -> Vec<T> {
///         // jobs.into_par_iter().map(work).collect()
/// #       jobs.into_iter().map(work).collect()
///     }
/// }
/// ```
pub trait Executor: Sync {
    /// How many pieces run at once: a hint for how many to cut, never seen in a result.
    fn threads(&self) -> usize;

    /// The results of `work`, in the order of `jobs`.
    fn map<J: Send, T: Send>(&self, jobs: Vec<J>, work: impl Fn(J) -> T + Send + Sync) -> Vec<T>;
}

/// One piece after the other on the calling thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Serial;

impl Executor for Serial {
    fn threads(&self) -> usize {
        1
    }

    fn map<J: Send, T: Send>(&self, jobs: Vec<J>, work: impl Fn(J) -> T + Send + Sync) -> Vec<T> {
        jobs.into_iter().map(work).collect()
    }
}

/// `length` positions cut into runs of `size`.
pub(crate) fn runs(length: usize, size: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..length).step_by(size.max(1)).map(move |start| start..length.min(start + size))
}
