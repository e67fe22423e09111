//! Statistics of a range of tokens over vocabulary shards.
//!
//! ```text
//! m = max z    Σ = Σ_k exp(z_k - m)    log π_k = z_k - m - ln Σ    H = ln Σ - Σ_k (z_k - m) exp(z_k - m) / Σ
//! ```
//!
//! The maximum and the sums run over the full vocabulary: one reduction for the first, one for the others.

use tch::Tensor;

use super::restriction::{Lists, Restriction};
use super::{Chunk, OverShards};
use crate::model::TensorGroup;

impl Chunk {
    /// Computes the chunk of this rank's shard. `logits`, `[length, own tokens]`, are already divided by the temperature; `targets`,
    /// `[length, 1]`, and `lists` hold ids of the full vocabulary.
    pub(super) fn of_shard(
        logits: &Tensor,
        targets: &Tensor,
        lists: Option<&[&[u32]]>,
        group: &TensorGroup,
    ) -> Self {
        let (kind, tokens) = (logits.kind(), logits.size()[1]);
        let (targets, here) = group.local_ids(targets, tokens);
        let mask = lists.map(|lists| {
            let lists = Lists::new(lists, logits.device()).within(group, tokens);
            (lists.gather(logits), lists)
        });
        let last = [-1i64];
        let mut maxima = vec![logits.amax(last.as_slice(), true)];
        maxima.extend(mask.as_ref().map(|(kept, _)| kept.amax(last.as_slice(), true)));
        let maxima = group.largest(&Tensor::cat(&maxima, 1)).unbind(1);
        let shifted = logits - maxima[0].unsqueeze(1);
        let exponential = shifted.exp();
        // A token of probability 0 adds nothing: 0 · (-∞) must not become NaN.
        let weighted = &exponential * shifted.clamp_min(f64::from(f32::MIN));
        let row_sum = |x: &Tensor| x.sum_dim_intlist(last.as_slice(), true, kind);
        let target = shifted.gather(1, &targets, false).masked_fill(&here.logical_not(), 0.0);
        let mut sums = vec![row_sum(&exponential), row_sum(&weighted), target];
        let mask = mask.map(|(kept, lists)| {
            // The list of a token without one is empty everywhere.
            let largest = maxima[1].unsqueeze(1).masked_fill(&lists.full, 0.0);
            sums.push(row_sum(&(&kept - &largest).exp()));
            (kept, lists, largest)
        });
        let sums = group.sum(&Tensor::cat(&sums, 1));
        let column = |index: i64| sums.narrow(1, index, 1);
        let log_sum = column(0).log();
        let entropy = (&log_sum - column(1) / column(0)).squeeze_dim(1);
        let target_log_prob = column(2) - &log_sum;
        let restriction = mask.map(|(kept, Lists { ids, full, .. }, largest)| {
            let to_log_prob = maxima[0].unsqueeze(1) + &log_sum;
            let log_mass = (column(3).log() + largest - &to_log_prob).masked_fill(&full, 0.0);
            let log_prob = kept - to_log_prob - &log_mass;
            Restriction { ids, log_prob, log_mass, full: full.to_kind(kind) }
        });
        let over_shards = OverShards { is_here: here.to_kind(kind), target_log_prob, entropy };
        Self { log_prob: shifted - log_sum, targets, restriction, over_shards: Some(over_shards) }
    }
}
