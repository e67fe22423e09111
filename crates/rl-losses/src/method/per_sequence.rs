//! One number for the tokens of each sequence, of its ratios and advantages.

use crate::{
    batch::TokenBatch,
    fast::{real::Real, spread::Spread},
};

/// Sums over the tokens of a sequence.
pub(super) struct Sums {
    /// Sum of the values taken of log-ratio and advantage.
    pub(super) taken: f64,
    /// Sum of the advantages.
    pub(super) advantage: f64,
    /// Number of tokens, 1 for none.
    pub(super) length: f64,
}

impl Sums {
    /// Mean of the values taken.
    pub(super) fn mean_taken(&self) -> f64 {
        self.taken / self.length
    }
}

/// `finish` of the sums of `take(log r, A)` over each sequence.
pub(super) fn per_sequence<R: Real>(
    batch: &TokenBatch<'_, R>,
    take: impl Fn(f64, f64) -> f64,
    finish: impl Fn(Sums) -> f64,
) -> Spread {
    let mut start = 0;
    let values = batch.sequence_lengths().iter().map(|&length| {
        let run = start..start + length;
        start = run.end;
        let mut sums = Sums { taken: 0.0, advantage: 0.0, length: length.max(1) as f64 };
        for token in run {
            let advantage = batch.advantage()[token].to_f64();
            let log_ratio = (batch.log_prob()[token] - batch.old_log_prob()[token]).to_f64();
            sums.taken += take(log_ratio, advantage);
            sums.advantage += advantage;
        }
        finish(sums)
    });
    Spread::per_sequence(values.collect(), batch.sequence_lengths())
}
