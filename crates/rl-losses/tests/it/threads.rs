//! Any number of threads gives the same bits.

use rayon::prelude::*;
use rl_losses::{Aggregation, Executor, Real};

use crate::batches::{Columns, losses, seeded};

/// Threads of rayon's.
struct Pool(rayon::ThreadPool);

impl Pool {
    fn of(threads: usize) -> Self {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Self(builder.build().expect("a pool of a few threads"))
    }
}

impl Executor for Pool {
    fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    fn map<J: Send, T: Send>(&self, jobs: Vec<J>, work: impl Fn(J) -> T + Send + Sync) -> Vec<T> {
        self.0.install(|| jobs.into_par_iter().map(work).collect())
    }
}

/// Value, gradient, selection and sums of a batch of several pieces, whoever runs them.
fn assert_no_bit_depends_on_the_threads<R: Real>(columns: &Columns<R>) {
    let batch = columns.batch();
    let pools = [1, 2, 3, 7].map(Pool::of);
    for loss in losses() {
        let rule = Aggregation::SeqMeanTokenMean;
        let alone = loss.plan(&batch, &rule, &mut seeded(2)).expect("all columns");
        let whole = loss.evaluate(&batch, alone.part(0..batch.len()));
        for pool in &pools {
            let plan = loss.plan_on(pool, &batch, &rule, &mut seeded(2)).expect("all columns");
            assert!(plan == alone, "{}", loss.name());
            let mut gradient = vec![R::of(0.0); batch.len()];
            let part = plan.part(0..batch.len());
            let found = loss.evaluate_into(pool, &batch, &part, &mut gradient);
            assert_eq!(found.value.to_bits(), whole.value.to_bits(), "{}", loss.name());
            assert_eq!(found.sums, whole.sums);
            assert!(gradient == whole.grad_log_prob, "{}", loss.name());
        }
    }
}

#[test]
fn no_bit_depends_on_the_threads() {
    let columns = long_batch(50_000, &mut seeded(1));
    assert_no_bit_depends_on_the_threads(&columns);
    assert_no_bit_depends_on_the_threads(&columns.stored::<f32>());
}

pub(crate) fn long_batch(tokens: usize, rng: &mut impl rand::Rng) -> Columns {
    let mut column = |low: f64, high: f64| -> Vec<f64> {
        (0..tokens).map(|_| rng.random_range(low..high)).collect()
    };
    let log_prob = column(-6.0, 0.0);
    let old_log_prob =
        std::iter::zip(&log_prob, column(-0.6, 0.6)).map(|(new, by)| new - by).collect();
    Columns {
        log_prob,
        old_log_prob,
        advantage: column(-2.0, 2.0),
        optional: [column(0.0, 2.0), column(0.0, 2.0), column(-6.0, 0.0), column(-6.0, 0.0)],
        lengths: vec![1000; tokens / 1000],
        micro_batches: vec![10; tokens / 10_000],
    }
}
