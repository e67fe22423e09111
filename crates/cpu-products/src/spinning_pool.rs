//! A pool whose threads do not sleep while there is work.

use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `work` in the pool, whose other threads look for work all the while: a token is a hundred products of a tenth of a
/// millisecond, and to wake a thread for each takes as long.
///
/// The thread that works never comes to look for work itself, which would be for ever: it waits for a piece only if another
/// thread took that, and these take the oldest first, the watches before any piece.
pub fn run_spinning<T: Send>(pool: &rayon::ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    /// Says that the work is over, also when it panics: the scope waits for those who look for work.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let over = AtomicBool::new(false);
    pool.scope(|scope| {
        for _ in 1..pool.current_num_threads() {
            scope.spawn(|_| {
                while !over.load(Ordering::Relaxed) {
                    if rayon::yield_now() != Some(rayon::Yield::Executed) {
                        std::hint::spin_loop();
                    }
                }
            });
        }
        let _over = Over(&over);
        work()
    })
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::run_spinning;

    #[test]
    fn work_ends_with_any_number_of_threads_and_when_it_panics() {
        for threads in 1..=5 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for round in 0..200_u64 {
                let sum: u64 =
                    run_spinning(&pool, || (0..64_u64).into_par_iter().map(|n| n * round).sum());
                assert_eq!(sum, 2016 * round);
            }
            let work = || {
                run_spinning(&pool, || assert!(pool.current_num_threads() == 0, "meant to fail"))
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        }
    }
}
