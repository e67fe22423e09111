//! Importance weights of a rollout correction.

use super::{settings::RolloutCorrection, sums::CorrectionSums};
use crate::{
    column::{ColumnError, check_columns, check_sequences, sequence_ranges},
    parameter::Settings,
    surrogate::limited,
};

/// A mean weight at or below this is not divided by, as in verl.
const LEAST_MEAN: f64 = 1e-8;

/// The importance weight of each token and what they add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// `[tokens]`, 0 or above, to be passed to [`StepPlan::reweight`](crate::StepPlan::reweight).
    /// Constants: never differentiated.
    pub weights: Vec<f64>,
    /// Statistics over the same tokens.
    pub sums: CorrectionSums,
}

impl RolloutCorrection {
    /// Weights of whole sequences after veto, bound and rejection, normalised (if at all) over exactly these.
    ///
    /// `old_log_prob` is the trainer's, `rollout_log_prob` as sampled, both `[tokens]` in nats. A
    /// log-ratio, or sum of them, is clamped to ±20 nats before `exp`.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns do not fit each other, a value is not finite, or a setting is
    /// out of its range.
    pub fn weights(
        &self,
        old_log_prob: &[f64],
        rollout_log_prob: &[f64],
        sequence_lengths: &[usize],
    ) -> Result<Correction, ColumnError> {
        self.check()?;
        let old = ("old_log_prob", old_log_prob);
        check_columns(&[old, ("rollout_log_prob", rollout_log_prob)])?;
        check_sequences(sequence_lengths, old)?;
        let log_ratio: Vec<f64> =
            std::iter::zip(old_log_prob, rollout_log_prob).map(|(old, new)| old - new).collect();
        let mut weights = Vec::with_capacity(log_ratio.len());
        let mut sums = CorrectionSums { tokens: log_ratio.len(), ..CorrectionSums::default() };
        for tokens in sequence_ranges(sequence_lengths).filter(|tokens| !tokens.is_empty()) {
            let begin = weights.len();
            let log_ratio = &log_ratio[tokens];
            for held in log_ratio.iter().map(|&ratio| limited(ratio)) {
                sums.k3 += held.exp_m1() - held;
            }
            let vetoed = log_ratio.iter().any(|ratio| ratio.exp() < self.veto);
            let mut unit = |log_weight: f64| {
                let (weight, side) = self.bound.apply(limited(log_weight).exp());
                sums.above += usize::from(side > 0);
                sums.below += usize::from(side < 0);
                let weight = if vetoed { 0.0 } else { weight };
                sums.unit_weight += weight;
                sums.units += 1;
                weight
            };
            match self.level.of_response(log_ratio) {
                None => weights.extend(log_ratio.iter().map(|&ratio| unit(ratio))),
                Some(of_response) => {
                    weights.extend(std::iter::repeat_n(unit(of_response), log_ratio.len()));
                }
            }
            let stays = self.reject.apply(log_ratio, &mut weights[begin..]);
            sums.vetoed += usize::from(vetoed | !stays);
            sums.sequences += 1;
            sums.weight += weights[begin..].iter().sum::<f64>();
            sums.weight_squared += weights[begin..].iter().map(|w| w * w).sum::<f64>();
        }
        let mean = sums.unit_weight / sums.units as f64;
        if self.normalise && mean > LEAST_MEAN {
            for weight in &mut weights {
                *weight /= mean;
            }
        }
        Ok(Correction { weights, sums })
    }
}
