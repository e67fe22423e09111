//! Drawing tokens where ranks hold vocabulary shards: the same tokens as from the full vocabulary.
//!
//! The uniform number of a row is looked up in the cumulative distribution as in [`draw`]. The shards are contiguous, so their
//! masses tell which of them contains the number; that rank searches its own cumulative sum and sends the token to the others.
//! Two numbers per row and rank are gathered and two per row summed, whatever the size of the vocabulary.

use entropy_core::LogitsError;
use tch::{Kind, Tensor};

use super::request::GenerationOptions;
use super::sampler::{Drawn, draw, drawn};
use crate::model::TensorGroup;

/// Draws as [`draw`] does, from this rank's shard of the logits, `[rows, local tokens]`; every rank of the group gets the same tokens.
pub(super) fn draw_from_shards(
    group: &TensorGroup,
    logits: &Tensor,
    uniforms: &[f64],
    options: &GenerationOptions,
) -> Result<Vec<Drawn>, LogitsError> {
    let logits = logits.to_kind(Kind::Double);
    if options.truncates() || options.band.is_some() || options.measure_entropy {
        // What is left out, and every entropy, depends on all tokens.
        return draw(&group.gather_columns(&logits), uniforms, options);
    }
    let is_greedy = options.sampling.temperature <= 0.0;
    let logits = if is_greedy { logits } else { logits / options.sampling.temperature };
    let (tokens, log_prob) = draw_by(group, &logits, (!is_greedy).then_some(uniforms));
    // A log-probability that is NaN is NaN on all ranks, so that all of them gather.
    drawn([&tokens, &log_prob], Vec::new(), Vec::new(), || group.gather_columns(&logits))
}

/// Tokens and their log-probabilities, `[rows, 1]` each: by the rows' uniform numbers, or the most likely ones.
fn draw_by(group: &TensorGroup, logits: &Tensor, uniforms: Option<&[f64]>) -> (Tensor, Tensor) {
    let local_tokens = logits.size()[1];
    // All tokens of a shard may be impossible.
    let local_largest = logits.amax([-1i64].as_slice(), true).clamp_min(f64::MIN);
    let shifted = logits - &local_largest;
    let cumulative = shifted.exp().cumsum(-1, Kind::Double);
    let end = cumulative.narrow(-1, local_tokens - 1, 1);
    // The largest logit of each shard, and the sum of its exponentials relative to the global maximum, `[ranks, rows, 1]`.
    let all = group.gather(&Tensor::cat(&[&local_largest, &end], 1));
    let largest = all.narrow(2, 0, 1);
    let scales = (&largest - largest.amax([0i64].as_slice(), true)).exp();
    let mass = all.narrow(2, 1, 1) * &scales;
    // Factor from this shard's own sums to that scale, `[rows, 1]`.
    let scale = scales.select(0, group.index());
    let ends = mass.cumsum(0, Kind::Double);
    let total = ends.select(0, group.count() - 1);
    let (owner, tokens) = match uniforms {
        None => (largest.argmax(0, false), shifted.argmax(-1, true)),
        Some(uniforms) => {
            let target =
                Tensor::from_slice(uniforms).to_device(total.device()).unsqueeze(1) * &total;
            // The first whose end lies beyond; if rounding leaves none, the last that has any mass.
            let shards_with = |has: Tensor| {
                has.to_kind(Kind::Int64).sum_dim_intlist([0i64].as_slice(), false, Kind::Int64)
            };
            let before = shards_with(ends.le_tensor(&target.unsqueeze(0)));
            let last = shards_with(ends.lt_tensor(&total.unsqueeze(0)));
            let offset = ends.select(0, group.index()) - mass.select(0, group.index());
            let within = (target - offset) / &scale;
            let find = |values: &Tensor, side: &str| {
                values.searchsorted(&cumulative, false, side == "right", side, None::<&Tensor>)
            };
            // Here too: never beyond the last token that is possible.
            (before.minimum(&last), find(&within, "right").minimum(&find(&end, "left")))
        }
    };
    let is_owner = owner.eq(group.index());
    let tokens = tokens.clamp(0, local_tokens - 1);
    let log_prob = shifted.gather(1, &tokens, false) + scale.log() - total.log();
    let ids = (tokens + group.index() * local_tokens).to_kind(Kind::Double);
    let nothing = Tensor::zeros([1], (Kind::Double, logits.device()));
    let told = group.sum(&Tensor::cat(&[ids, log_prob], 1).where_self(&is_owner, &nothing));
    (told.narrow(1, 0, 1).to_kind(Kind::Int64), told.narrow(1, 1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::tiny_config;
    use ranks::Ranks;

    fn alone() -> TensorGroup {
        TensorGroup::new(&Ranks::single(), &tiny_config()).unwrap()
    }

    /// One shard is the full vocabulary: every uniform number draws the same token, impossible tokens and the ends of the range included.
    #[test]
    fn one_shard_draws_as_the_full_vocabulary() {
        let group = alone();
        let logits = [0.1f64, 0.0, 0.2, 0.4, 0.3, 0.0].map(f64::ln);
        let logits = Tensor::from_slice(&logits).unsqueeze(0);
        let mut uniforms: Vec<f64> = (0..1000).map(|k| f64::from(k) / 1000.0 + 3e-4).collect();
        uniforms.extend([0.0, 1.0 - f64::EPSILON / 2.0]);
        for temperature in [0.0, 0.5, 1.0] {
            let options = GenerationOptions::at_temperature(temperature);
            for &uniform in &uniforms {
                let full = draw(&logits, &[uniform], &options).unwrap().remove(0);
                let parts = draw_from_shards(&group, &logits, &[uniform], &options);
                let parts = parts.unwrap().remove(0);
                assert_eq!(full.token_id, parts.token_id, "{uniform} at {temperature}");
                assert!((full.log_prob - parts.log_prob).abs() < 1e-14, "{full:?} {parts:?}");
            }
        }
    }

    #[test]
    fn logits_that_define_no_distribution_are_refused() {
        let group = alone();
        let logits = Tensor::from_slice(&[0.0, f64::NAN, 1.0]).unsqueeze(0);
        for temperature in [0.0, 1.0] {
            let options = GenerationOptions::at_temperature(temperature);
            let error = draw_from_shards(&group, &logits, &[0.5], &options).unwrap_err();
            assert!(error.to_string().contains("logit 1 is NaN"), "{error}");
        }
    }
}
