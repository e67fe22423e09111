//! A share of its own for each bucket of a mini-batch: what a thermostat for each difficulty moves.

use std::ops::Range;

use rand::Rng;

use crate::{
    Aggregation, Candidates, PlanError, PolicyLoss, Real, Scope, Serial, StepPlan, TokenBatch,
    parameter::check_fraction,
};

impl PolicyLoss {
    /// As [`plan`](Self::plan), with `fractions[b]` of the tokens of bucket `b` selected in place of the
    /// method's own fraction of all tokens. `buckets` is `[sequences]`.
    ///
    /// Covariances are centred over the whole mini-batch, and the weights are those of the whole: only
    /// the selection is taken bucket by bucket. To hold the entropy of hard and of easy prompts apart:
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use rl_losses::{
    ///     Aggregation, DifficultyThermostat, DifficultyThermostatSettings, EntropyTarget, KlCov,
    ///     PolicyLoss, Thermostat, ThermostatSettings, TokenBatch, TokenColumns,
    /// };
    ///
    /// let mut thermostats = DifficultyThermostat::new(&DifficultyThermostatSettings {
    ///     accuracy_edges: vec![0.5],
    ///     thermostat: ThermostatSettings::new(EntropyTarget::constant(0.3), 2e-3, 1e-5, 0.5)?,
    /// })?;
    /// // Mean entropies of the last step's tokens: the hard prompts have enough, the easy ones do not.
    /// thermostats.update(&[Some(0.5), Some(0.1)])?;
    ///
    /// let columns = TokenColumns {
    ///     log_prob: &[-0.1, -2.0, -0.5, -0.3],
    ///     old_log_prob: &[-0.3, -2.0, -0.4, -0.2],
    ///     advantage: &[1.0, 1.0, -1.0, -1.0],
    /// };
    /// let batch = TokenBatch::new(columns, &[1, 1, 2])?;
    /// // The accuracy of each sequence's group decides on its bucket.
    /// let buckets = [0.25, 0.25, 0.75].map(|accuracy| thermostats.bucket(accuracy));
    /// let fractions: Vec<f64> = thermostats.thermostats().iter().map(Thermostat::knob).collect();
    ///
    /// let loss = PolicyLoss::KlCov(KlCov::default());
    /// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
    /// let rule = Aggregation::TokenMean;
    /// let plan = loss.plan_by_bucket(&batch, &buckets, &fractions, &rule, &mut rng)?;
    /// assert_eq!(plan.selected_tokens().len(), 2, "one token of each bucket, the least there is");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and [`PlanError`] if the method selects no share of the mini-batch, a
    /// fraction is out of range, or a sequence has no bucket with a fraction.
    pub fn plan_by_bucket<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        buckets: &[usize],
        fractions: &[f64],
        aggregation: &Aggregation,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<StepPlan, PlanError> {
        let method = self.name();
        let summary = self.summarise(&Serial, batch)?;
        let ranking = self.ranking().filter(|ranking| ranking.scope() == Scope::MiniBatch);
        let ranking = ranking.ok_or(PlanError::NoShare { method })?;
        let runs = runs_of_buckets(batch.sequence_lengths(), buckets, fractions.len())?;
        let seed = if ranking.draws() { rng.random() } else { 0 };
        let mut selected = Candidates::settled();
        for (runs, &fraction) in std::iter::zip(&runs, fractions) {
            let fraction = check_fraction("fraction", fraction)
                .map_err(|source| PlanError::Parameter { method, source })?;
            let ranking = ranking.with_fraction(fraction);
            selected.settle(ranking.candidates_among(batch, runs, &summary, seed));
        }
        self.finish(batch, &summary, &selected, 0, aggregation)
    }
}

/// The runs of tokens of each bucket, neighbours as one.
fn runs_of_buckets(
    sequence_lengths: &[usize],
    buckets: &[usize],
    shares: usize,
) -> Result<Vec<Vec<Range<usize>>>, PlanError> {
    let (found, expected) = (buckets.len(), sequence_lengths.len());
    if found != expected {
        return Err(PlanError::BucketLength { found, expected });
    }
    let mut runs = vec![Vec::<Range<usize>>::new(); shares];
    let mut start = 0;
    for (index, (&bucket, length)) in std::iter::zip(buckets, sequence_lengths).enumerate() {
        let of_bucket = runs.get_mut(bucket).ok_or(PlanError::Bucket { index, bucket, shares })?;
        match of_bucket.last_mut() {
            Some(last) if last.end == start => last.end += length,
            _ => of_bucket.push(start..start + length),
        }
        start += length;
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_a_bucket_are_one_run() {
        let runs = runs_of_buckets(&[2, 3, 1, 4, 1], &[0, 0, 1, 0, 1], 3).unwrap();
        assert_eq!(runs, [vec![0..5, 6..10], vec![5..6, 10..11], vec![]]);
    }

    #[test]
    fn a_sequence_without_a_bucket_is_named() {
        let error = runs_of_buckets(&[1, 1], &[0, 2], 2).unwrap_err();
        let expected = "`buckets` is 2 at sequence 1, expected below 2, as there are shares";
        assert_eq!(error.to_string(), expected);
        let error = runs_of_buckets(&[1, 1], &[0], 2).unwrap_err();
        assert_eq!(error.to_string(), "`buckets` has 1 sequences, the batch has 2");
    }
}
