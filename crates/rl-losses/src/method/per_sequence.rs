//! One number for the tokens of each sequence, of its ratios and advantages.

use crate::{Real, TokenBatch, column::sequence_ranges, fast::spread::Spread};

/// `finish` of three numbers of each sequence: the sums over its tokens of `take(log r, A)` and of `A`, and the number of its tokens,
/// 1 for none.
pub(super) fn per_sequence<R: Real>(
    batch: &TokenBatch<'_, R>,
    take: impl Fn(f64, f64) -> f64,
    finish: impl Fn(f64, f64, f64) -> f64,
) -> Spread {
    let values = sequence_ranges(batch.sequence_lengths()).map(|tokens| {
        let length = tokens.len().max(1) as f64;
        let (mut taken, mut advantages) = (0.0, 0.0);
        for token in tokens {
            let advantage = batch.advantage()[token].to_f64();
            let log_ratio = (batch.log_prob()[token] - batch.old_log_prob()[token]).to_f64();
            taken += take(log_ratio, advantage);
            advantages += advantage;
        }
        finish(taken, advantages, length)
    });
    Spread::per_sequence(values.collect(), batch.sequence_lengths())
}
