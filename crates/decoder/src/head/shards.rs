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
        let mask = lists.map(|lists| MaskedLogits::new(logits, lists, group));
        let last = [-1i64];
        let mut maxima = vec![logits.amax(last.as_slice(), true)];
        maxima.extend(mask.as_ref().map(|mask| mask.logits.amax(last.as_slice(), true)));
        let maxima = group.largest(&Tensor::cat(&maxima, 1)).unbind(1);
        let shifted = logits - maxima[0].unsqueeze(1);
        let exponential = shifted.exp();
        // A token of probability 0 adds nothing: 0 · (-∞) must not become NaN.
        let weighted = &exponential * shifted.clamp_min(f64::from(f32::MIN));
        let row_sum = |x: &Tensor| x.sum_dim_intlist(last.as_slice(), true, kind);
        let target = shifted.gather(1, &targets, false).masked_fill(&here.logical_not(), 0.0);
        let mut sums = vec![row_sum(&exponential), row_sum(&weighted), target];
        let mask = mask.map(|mask| {
            // The list of a token without one is empty everywhere.
            let largest = maxima[1].unsqueeze(1).masked_fill(&mask.full, 0.0);
            sums.push(row_sum(&(&mask.logits - &largest).exp()));
            (mask, largest)
        });
        let sums = group.sum(&Tensor::cat(&sums, 1));
        let column = |index: i64| sums.narrow(1, index, 1);
        let log_sum = column(0).log();
        let entropy = (&log_sum - column(1) / column(0)).squeeze_dim(1);
        let target_log_prob = column(2) - &log_sum;
        let restriction = mask.map(|(MaskedLogits { ids, logits, full }, largest)| {
            let to_log_prob = maxima[0].unsqueeze(1) + &log_sum;
            let log_mass = (column(3).log() + largest - &to_log_prob).masked_fill(&full, 0.0);
            let log_prob = logits - to_log_prob - &log_mass;
            Restriction { ids, log_prob, log_mass, full: full.to_kind(kind) }
        });
        let over_shards = OverShards { is_here: here.to_kind(kind), target_log_prob, entropy };
        Self { log_prob: shifted - log_sum, targets, restriction, over_shards: Some(over_shards) }
    }
}

/// Logits of the kept tokens in this rank's vocabulary shard.
struct MaskedLogits {
    /// Their indices in the shard, arbitrary for tokens of other shards, i64 `[length, widest]`.
    ids: Tensor,
    /// `-inf` for padding and tokens of other shards, `[length, widest]`.
    logits: Tensor,
    /// True where the token was drawn from the full vocabulary, `[length, 1]`.
    full: Tensor,
}

impl MaskedLogits {
    fn new(logits: &Tensor, lists: &[&[u32]], group: &TensorGroup) -> Self {
        let Lists { ids, absent, full } = Lists::new(lists, logits.device());
        let (ids, here) = group.local_ids(&ids, logits.size()[1]);
        let missing = absent.logical_or(&here.logical_not());
        let logits = logits.gather(1, &ids, false).masked_fill(&missing, f64::NEG_INFINITY);
        Self { ids, logits, full }
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::head::{
        Head, Targets, TokenCotangent, WeightGradient, token_statistics, token_statistics_backward,
    };
    use crate::kernel_self_test::{largest_off, tiny_config};
    use crate::sampling_mask::SamplingMask;
    use ranks::Ranks;

    fn draw(shape: [i64; 2], seed: i64) -> Tensor {
        tch::manual_seed(seed);
        Tensor::randn(shape, (Kind::Double, tch::Device::Cpu)) * 3.0
    }

    /// The reduced sums equal `log_softmax` of the full vocabulary; several processes are compared in `tests/trainer/ranks`.
    #[test]
    fn one_shard_agrees_with_the_full_vocabulary() {
        let group = TensorGroup::new(&Ranks::single(), &tiny_config()).unwrap();
        let (hidden, weight) = (draw([5, 4], 1), draw([9, 4], 2));
        let targets = Tensor::from_slice(&[0i64, 8, 3, 3, 7]);
        let lists = vec![vec![], vec![2, 8], vec![3], vec![], vec![0, 5, 6, 7]];
        let mask = SamplingMask::from(lists);
        let (d_log_prob, d_entropy) = (draw([5, 1], 3).squeeze(), draw([5, 1], 4).squeeze());
        for (mask, temperature) in [(None, 1.0), (Some(&mask), 1.0), (Some(&mask), 0.6)] {
            let targets = Targets { ids: &targets, mask, with_squared_scores: true };
            let heads = [None, Some(&group)].map(|group| Head { weight: &weight, group });
            let [unsharded, sharded] =
                heads.map(|head| token_statistics(&hidden, head, targets, temperature));
            assert!(largest_off(&unsharded.log_prob, &sharded.log_prob) < 1e-13);
            assert!(largest_off(&unsharded.entropy, &sharded.entropy) < 1e-13);
            let squares = [unsharded, sharded].map(|computed| computed.squared_score.unwrap());
            assert!(largest_off(&squares[0], &squares[1]) < 1e-13);
            let [unsharded, sharded] = heads.map(|head| {
                let d_weight = weight.zeros_like();
                let mut sum = WeightGradient::over(&d_weight);
                let cotangent = TokenCotangent { log_prob: &d_log_prob, entropy: Some(&d_entropy) };
                let (targets, sum) = (targets, Some(&mut sum));
                let gradient =
                    token_statistics_backward(&hidden, head, targets, temperature, cotangent, sum);
                (gradient.hidden, d_weight)
            });
            assert!(largest_off(&unsharded.0, &sharded.0) < 1e-12);
            assert!(largest_off(&unsharded.1, &sharded.1) < 1e-12);
        }
    }
}
