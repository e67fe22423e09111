//! A rollout with all columns of its tokens that are known before the update.

use rl_losses::{
    AdvantageError, AdvantageEstimator, Correction, CorrectionSums, DifficultyThermostat,
    KlController, RolloutColumns, RolloutCorrection, informative_groups, kl_mean, kl_rewards,
};
use training_run::config::{KlPlacement, ReferenceKl};

use super::policy_pass::{Sequence, Statistics};
use super::sample::Sample;
use super::sequence::TokenLayout;
use super::update::UpdateColumns;

/// The columns of one rollout batch.
#[derive(Debug)]
pub(super) struct ScoredRollout {
    /// Responses, group after group.
    pub(super) samples: Vec<Sample>,
    /// Maps responses to ranges of the columns.
    pub(super) layout: TokenLayout,
    /// Columns of all response tokens. The log-probabilities that the ratio is taken to are those under the policy that sampled each
    /// token, if some groups waited since an earlier step.
    pub(super) columns: UpdateColumns,
    /// True for each group whose rewards differ, `[groups]`.
    pub(super) informative: Vec<bool>,
    /// Sums of the tokens' importance weights, if another process has sampled.
    pub(super) correction: Option<CorrectionSums>,
    /// Fraction of the experts recorded in sampling that the policy's router would not have chosen, if some were recorded.
    pub(super) rerouted_fraction: Option<f64>,
}

/// Reference of the policy, from which the divergence is measured.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) settings: ReferenceKl,
    /// Weight of the divergence, reward per nat.
    pub(super) coefficient: f64,
    /// Log-probability of every response token under the reference, in nats.
    pub(super) log_prob: Vec<f64>,
}

/// Advantages of rewards with two components: that of the answer and that of the length.
fn advantages(
    estimator: &AdvantageEstimator,
    columns: RolloutColumns<'_>,
    lengths: &[f64],
) -> Result<Vec<f64>, AdvantageError> {
    let answers = std::iter::zip(columns.rewards, lengths).map(|(reward, length)| reward - length);
    let answers: Vec<f64> = answers.collect();
    let components = [answers.as_slice(), lengths];
    estimator.advantages(&RolloutColumns { reward_components: Some(&components), ..columns })
}

impl ScoredRollout {
    /// Turns rewards into advantages; first subtracts the divergence from the reference if it is placed in the reward.
    pub(super) fn new(
        samples: Vec<Sample>,
        groups: usize,
        old: Statistics,
        reference: Option<Reference>,
        process_log_ratio: Option<&[f64]>,
        estimator: &AdvantageEstimator,
    ) -> anyhow::Result<Self> {
        let verified: Vec<f64> = samples.iter().map(|sample| sample.reward).collect();
        let group_sizes = vec![samples.len() / groups.max(1); groups];
        let layout = TokenLayout::of(samples.iter().map(|sample| &sample.sequence));
        let plain = RolloutColumns {
            rewards: &verified,
            group_sizes: &group_sizes,
            sequence_lengths: layout.lengths(),
            process_log_ratio,
            squared_scores: old.squared_score.as_deref(),
            ..RolloutColumns::default()
        };
        let lengths: Vec<f64> = samples.iter().map(|sample| sample.length_reward).collect();
        let advantage = match &reference {
            Some(reference) if reference.settings.placement == KlPlacement::Reward => {
                let token_rewards = kl_rewards(
                    reference.settings.estimator,
                    reference.coefficient,
                    &plain.token_rewards()?,
                    &old.log_prob,
                    &reference.log_prob,
                )?;
                let rewards = layout.sums(&token_rewards);
                let token_rewards = Some(token_rewards.as_slice());
                let columns = RolloutColumns { rewards: &rewards, token_rewards, ..plain };
                advantages(estimator, columns, &lengths)?
            }
            _ => advantages(estimator, plain, &lengths)?,
        };
        let drawn = samples.iter().flat_map(|sample| sample.rollout_log_prob.iter().copied());
        let rollout_log_prob = drawn.collect();
        Ok(Self {
            informative: informative_groups(&verified, &group_sizes),
            columns: UpdateColumns {
                advantage,
                rollout_log_prob,
                reference_log_prob: reference.map(|reference| reference.log_prob),
                old,
                ..UpdateColumns::default()
            },
            layout,
            samples,
            correction: None,
            rerouted_fraction: None,
        })
    }

    /// Uses the log-probabilities as sampled for groups sampled before `step`: the policy has moved since.
    pub(super) fn with_sampling_steps(mut self, sampled_at: &[u64], step: u64) -> Self {
        if sampled_at.iter().all(|&at| at == step) {
            return self;
        }
        let group_size = self.samples.len() / sampled_at.len();
        let mut log_prob = self.columns.old.log_prob.clone();
        for (index, sample) in self.samples.iter().enumerate() {
            if sampled_at[index / group_size] < step {
                log_prob[self.layout.range(index)].copy_from_slice(&sample.rollout_log_prob);
            }
        }
        self.columns.sampled_log_prob = Some(log_prob);
        self
    }

    /// Weights the tokens by how far the sampling engine is from the policy.
    pub(super) fn with_correction(
        mut self,
        correction: Option<RolloutCorrection>,
    ) -> anyhow::Result<Self> {
        if let Some(correction) = correction {
            // For groups that waited, the loss's own ratio covers the policy's change since.
            let (policy, drawn) = (self.columns.old_log_prob(), &self.columns.rollout_log_prob);
            let Correction { weights, sums } =
                correction.weights(policy, drawn, self.layout.lengths())?;
            self.columns.token_weights = Some(weights);
            self.correction = Some(sums);
        }
        Ok(self)
    }

    pub(super) fn sequences(&self) -> Vec<&Sequence> {
        self.samples.iter().map(|sample| &sample.sequence).collect()
    }

    /// Difficulty bucket of each response, by the fraction of its group that is correct.
    pub(super) fn buckets(&self, thermostats: &DifficultyThermostat) -> Vec<usize> {
        let accuracy = |sample: &Sample| if sample.verdict.is_right() { 1.0 } else { 0.0 };
        let accuracy: Vec<f64> = self.samples.iter().map(accuracy).collect();
        thermostats.buckets(&accuracy, self.group_size())
    }

    pub(super) fn group_size(&self) -> usize {
        self.samples.len() / self.informative.len().max(1)
    }

    /// Indices of the samples that take part in the update: all, or those of groups whose rewards differ.
    pub(super) fn taught(&self, drops_uninformative: bool) -> Vec<usize> {
        let size = self.group_size();
        let takes_part = |&i: &usize| !drops_uninformative || self.informative[i / size];
        (0..self.samples.len()).filter(takes_part).collect()
    }

    /// Mean of `log π - log π_ref` over the response tokens, in nats; `None` without a reference.
    pub(super) fn reference_kl(&self) -> Option<f64> {
        let UpdateColumns { old, reference_log_prob, .. } = &self.columns;
        let reference = reference_log_prob.as_ref()?;
        let sum: f64 = old.log_prob.iter().zip(reference).map(|(old, r)| old - r).sum();
        Some(sum / reference.len() as f64)
    }

    /// Updates the coefficient of the divergence from the measured divergence.
    pub(super) fn move_coefficient(
        &self,
        settings: ReferenceKl,
        controller: &mut KlController,
    ) -> anyhow::Result<()> {
        let UpdateColumns { old, reference_log_prob, .. } = &self.columns;
        let Some(reference) = reference_log_prob else { return Ok(()) };
        let lengths = self.layout.lengths();
        let divergence = kl_mean(settings.estimator, &old.log_prob, reference, lengths)?;
        Ok(controller.update(divergence, self.samples.len())?)
    }
}

#[cfg(test)]
mod tests {
    use rl_losses::Gdpo;

    use super::*;

    /// One response alone keeps its reward; in a group the response that moved further pulls the baseline: energies 1 and 3, then 2.
    #[test]
    fn the_policys_squared_scores_weigh_the_optimal_token_baseline() {
        let rewarded = |(reward, response)| Sample { reward, ..Sample::wrong(response) };
        let samples = [(1.0, vec![2, 3]), (0.0, vec![2])].map(rewarded).to_vec();
        let old = Statistics {
            entropy: vec![0.5; 3],
            log_prob: vec![-1.0; 3],
            squared_score: Some(vec![1.0, 2.0, 2.0]),
        };
        let estimator = AdvantageEstimator::OptimalTokenBaseline;
        let scored = ScoredRollout::new(samples, 1, old, None, None, &estimator).unwrap();
        for (computed, expected) in
            std::iter::zip(scored.columns.advantage, [2.0 / 3.0, 1.0, -1.0 / 3.0])
        {
            assert!((computed - expected).abs() < 1e-8, "{computed} {expected}");
        }
    }

    /// In the second group the longer response is the right one. Summed first, its small penalty would hide beside the answer's
    /// reward of 1; GDPO weighs both alike, and they cancel.
    #[test]
    fn the_reward_of_the_length_is_a_component_of_its_own() {
        let sample = |(answer, length_reward): (f64, f64)| Sample {
            reward: answer + length_reward,
            length_reward,
            ..Sample::wrong(vec![2])
        };
        let rewards = [(1.0, 0.0), (0.0, -0.125), (1.0, -0.125), (0.0, 0.0)];
        let advantage = |estimator: AdvantageEstimator| {
            let samples = rewards.map(sample).to_vec();
            let old = Statistics {
                entropy: vec![0.5; 4],
                log_prob: vec![-1.0; 4],
                ..Statistics::default()
            };
            let scored = ScoredRollout::new(samples, 2, old, None, None, &estimator);
            scored.unwrap().columns.advantage
        };
        let gdpo = advantage(AdvantageEstimator::Gdpo(Gdpo::default()));
        // Standard scores of ±√½ each, summed, whitened over four tokens: ±√2 over √(4/3) of mean square.
        for (computed, expected) in std::iter::zip(gdpo, [1.5f64.sqrt(), -1.5f64.sqrt(), 0.0, 0.0])
        {
            assert!((computed - expected).abs() < 1e-4, "{computed} {expected}");
        }
        assert!(advantage(AdvantageEstimator::default())[2] > 0.7);
    }
}
