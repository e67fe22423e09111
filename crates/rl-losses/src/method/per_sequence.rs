//! One number for the tokens of each sequence, of its ratios and advantages.

use crate::{
    batch::TokenBatch,
    fast::{real::Real, spread::Spread},
};

/// `finish(mean of take(log r, A), mean A)` of each sequence.
pub(super) fn per_sequence<R: Real>(
    batch: &TokenBatch<'_, R>,
    take: impl Fn(f64, f64) -> f64,
    finish: impl Fn(f64, f64) -> f64,
) -> Spread {
    let mut start = 0;
    let values = batch.sequence_lengths().iter().map(|&length| {
        let run = start..start + length;
        start = run.end;
        let (mut sum, mut advantages) = (0.0, 0.0);
        for token in run {
            let advantage = batch.advantage()[token].to_f64();
            let log_ratio = (batch.log_prob()[token] - batch.old_log_prob()[token]).to_f64();
            sum += take(log_ratio, advantage);
            advantages += advantage;
        }
        let length = length.max(1) as f64;
        finish(sum / length, advantages / length)
    });
    Spread::per_sequence(values.collect(), batch.sequence_lengths())
}
