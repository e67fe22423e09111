//! Pieces of a large batch, on the caller's threads: this crate starts none.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

/// Tokens of the smallest piece that is worth another thread.
const SMALLEST: usize = 16_384;

/// Threads of the caller's. No result depends on them.
///
/// Over rayon:
///
/// ```
/// fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
///     // (0..pieces).into_par_iter().for_each(work)
/// #   (0..pieces).for_each(work)
/// }
///
/// // rayon::current_num_threads()
/// let threads = rl_losses::Threads::new(2, in_parallel);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    count: usize,
    run: fn(usize, &(dyn Fn(usize) + Sync)),
}

impl Threads {
    /// The calling thread alone.
    pub(crate) const ONE: Self = Self { count: 1, run: |pieces, work| (0..pieces).for_each(work) };

    /// `count` threads, on which `run` calls its second argument with every number below its first, once, in any order.
    pub fn new(count: usize, run: fn(usize, &(dyn Fn(usize) + Sync))) -> Self {
        Self { count, run }
    }

    /// `tokens` tokens cut into a piece for each thread, if there are enough.
    pub(crate) fn pieces(self, tokens: usize) -> impl Iterator<Item = Range<usize>> {
        let count = self.count.min(tokens / SMALLEST).max(1);
        runs(tokens, tokens.div_ceil(count))
    }

    /// The results of `work`, in the order of `jobs`.
    pub(crate) fn map<J: Send, T: Send>(
        self,
        jobs: Vec<J>,
        work: impl Fn(J) -> T + Sync,
    ) -> Vec<T> {
        if self.count < 2 || jobs.len() < 2 {
            return jobs.into_iter().map(work).collect();
        }
        let slots: Vec<_> = jobs.into_iter().map(|job| Mutex::new((Some(job), None))).collect();
        (self.run)(slots.len(), &|piece| {
            let mut slot = slots[piece].lock().unwrap_or_else(PoisonError::into_inner);
            slot.1 = slot.0.take().map(&work);
        });
        let done = slots.into_iter().map(|slot| slot.into_inner().map(|(_, result)| result));
        done.map(|result| result.ok().flatten().expect("every piece has been run")).collect()
    }
}

/// `length` positions cut into runs of `size`.
pub(crate) fn runs(length: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(size.max(1)).map(move |start| start..length.min(start + size))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Pieces at once, each on a thread of its own.
    pub(crate) fn at_once(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for piece in 0..pieces {
                scope.spawn(move || work(piece));
            }
        });
    }

    #[test]
    fn a_small_batch_is_one_piece() {
        let lengths = |tokens: usize| -> Vec<usize> {
            Threads::new(3, at_once).pieces(tokens).map(|piece| piece.len()).collect()
        };
        assert_eq!((lengths(20_000), lengths(40_000)), (vec![20_000], vec![20_000; 2]));
    }
}
