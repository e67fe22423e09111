//! What planning and evaluating a mini-batch allocate beside the gradient.

use rl_losses::{Aggregation, PolicyLoss, Serial, TokenBatch, registry};

use crate::batches::{Columns, seeded};
use crate::threads::long_batch;

/// The most that stood allocated at once, in bytes, and the tokens that were selected.
fn peak(loss: &PolicyLoss, batch: &TokenBatch<'_, f32>, rule: Aggregation) -> (u64, usize) {
    let mut gradient = vec![0.0f32; batch.len()];
    let mut selected = 0;
    let allocations = allocation_counter::measure(|| {
        let plan = loss.plan_on(&Serial, batch, &rule, &mut seeded(0)).expect("all columns");
        selected = plan.selected_tokens().len();
        loss.evaluate_into(&Serial, batch, &plan.part(0..batch.len()), &mut gradient);
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

#[test]
fn what_is_counted_is_what_is_allocated() {
    let numbers = allocation_counter::measure(|| drop(vec![0.0f64; 1000]));
    assert_eq!((numbers.bytes_max, numbers.bytes_current), (8000, 0));
}
