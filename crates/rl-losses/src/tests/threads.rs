//! Any number of threads gives the same bits.

use super::batches::{Columns, long_batch, losses, seeded};
use crate::{
    aggregation::Aggregation,
    fast::{
        real::Real,
        threads::{Threads, tests::at_once},
    },
};

/// Value, gradient, selection and sums of a batch of several pieces, on any number of threads.
fn assert_no_bit_depends_on_the_threads<R: Real>(columns: &Columns<R>) {
    for loss in losses() {
        let rule = Aggregation::SeqMeanTokenMean;
        let outcome = |threads: usize| {
            let batch = columns.batch().with_threads(Threads::new(threads, at_once));
            let plan = loss.plan(&batch, &rule, &mut seeded(2)).expect("all columns");
            let evaluation = loss.evaluate(&batch, plan.part(0..batch.len()));
            (plan, evaluation)
        };
        let (alone, reference) = outcome(1);
        for threads in [2, 3, 7] {
            let (plan, evaluation) = outcome(threads);
            assert!(plan == alone, "{}", loss.name());
            assert_eq!(evaluation.value.to_bits(), reference.value.to_bits(), "{}", loss.name());
            assert_eq!(evaluation.sums, reference.sums);
            assert!(evaluation.grad_log_prob == reference.grad_log_prob, "{}", loss.name());
        }
    }
}

#[test]
fn no_bit_depends_on_the_threads() {
    let columns = long_batch(50_000, &mut seeded(1));
    assert_no_bit_depends_on_the_threads(&columns);
    assert_no_bit_depends_on_the_threads(&columns.stored::<f32>());
}
