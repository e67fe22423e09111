//! Memory that planning and evaluating a mini-batch allocate beside the gradient.

use rl_losses::{Aggregation, KlCov, PolicyLoss, TokenBatch, TokenColumns, registry};

use crate::batches::{Columns, long_batch, seeded};

/// The most that stood allocated at once, in bytes, and the tokens that were selected.
fn peak(loss: &PolicyLoss, batch: &TokenBatch<'_, f32>, rule: Aggregation) -> (u64, usize) {
    let mut gradient = vec![0.0f32; batch.len()];
    let mut selected = 0;
    let allocations = allocation_counter::measure(|| {
        let plan = loss.plan(batch, &rule, &mut seeded(0)).expect("all columns");
        selected = plan.selected_tokens().len();
        loss.evaluate_into(batch, &plan.part(0..batch.len()), &mut gradient);
    });
    (allocations.bytes_max, selected)
}

fn columns() -> Columns<f32> {
    long_batch(200_000, &mut seeded(1)).stored()
}

/// A few numbers for each token selected and for each sequence, whatever the mini-batch's size: 3.2 MB
/// would be one `f64` for each of two columns.
#[test]
fn a_step_takes_the_gradient_and_memory_by_the_tokens_it_selects() {
    let columns = columns();
    let (batch, sequences) = (columns.batch(), columns.lengths.len());
    for method in registry() {
        let loss = method.default;
        for rule in [Aggregation::TokenMean, Aggregation::SeqMeanTokenMean] {
            let (bytes, selected) = peak(&loss, &batch, rule);
            let allowed = 16 * 1024 + 64 * sequences + 192 * selected;
            assert!(bytes <= allowed as u64, "{}: {bytes} bytes, {selected} tokens", method.name);
        }
    }
}

/// Runs that may hold tokens of high covariance are recorded, and lengthen with the mini-batch: for runs of 256 tokens the
/// record would take 188 kB here.
#[test]
fn memory_does_not_grow_with_the_tokens_that_are_not_selected() {
    let tokens = 3_000_000;
    let log_prob: Vec<f32> = (0..tokens).map(|at| -((at % 9973) as f32) / 2000.0).collect();
    let advantage: Vec<f32> = (0..tokens).map(|at| ((at / 1000) % 7) as f32 - 3.0).collect();
    let columns =
        TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
    let lengths = vec![1000; tokens / 1000];
    let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
    for fraction in [1e-6, 1e-4] {
        let loss = PolicyLoss::KlCov(KlCov::new(fraction, 1.0).expect("a fraction"));
        let (bytes, selected) = peak(&loss, &batch, Aggregation::TokenMean);
        assert_eq!(selected, if fraction < 1e-5 { 3 } else { 300 });
        let allowed = 64 * 1024 + 192 * selected;
        assert!(bytes <= allowed as u64, "{bytes} bytes, {selected} tokens");
    }
}

#[test]
fn what_is_counted_is_what_is_allocated() {
    let numbers = allocation_counter::measure(|| drop(vec![0.0f64; 1000]));
    assert_eq!((numbers.bytes_max, numbers.bytes_current), (8000, 0));
}
