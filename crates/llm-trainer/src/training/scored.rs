//! A rollout with all that is known of its tokens before the policy moves.

use rl_losses::{
    AdvantageEstimator, Correction, KlController, RolloutColumns, RolloutCorrection,
    informative_groups, kl_rewards, kl_sums,
};
use training_run::config::{KlPlacement, ReferenceKl};

use super::policy_pass::{Sequence, Statistics};
use super::rollout::Sample;

/// The columns of one rollout batch.
#[derive(Debug)]
pub(super) struct ScoredRollout {
    /// Responses, group after group.
    pub(super) samples: Vec<Sample>,
    /// Statistics of the policy that sampled, all response tokens.
    pub(super) old: Statistics,
    /// Log-probability of every response token under the reference, in nats.
    pub(super) reference_log_prob: Option<Vec<f64>>,
    /// Advantage of every response token.
    pub(super) advantage: Vec<f64>,
    /// Whether the rewards of each group differ.
    pub(super) informative: Vec<bool>,
    /// Log-probability of every response token under the policy that sampled it, where some waited since an earlier step;
    /// otherwise that is `old`.
    pub(super) sampled_log_prob: Option<Vec<f64>>,
    /// Importance of every response token, where another process has sampled.
    pub(super) correction: Option<Correction>,
}

impl ScoredRollout {
    /// Turns rewards, less the divergence from the reference where it is taken off them, into advantages.
    ///
    /// # Errors
    ///
    /// If a column is not finite.
    pub(super) fn new(
        samples: Vec<Sample>,
        groups: usize,
        old: Statistics,
        reference: Option<(ReferenceKl, KlController, Vec<f64>)>,
        process_log_ratio: Option<&[f64]>,
        estimator: &AdvantageEstimator,
    ) -> anyhow::Result<Self> {
        let verified: Vec<f64> = samples.iter().map(|sample| sample.reward).collect();
        let group_sizes = vec![samples.len() / groups.max(1); groups];
        let lengths: Vec<usize> = samples.iter().map(|s| s.sequence.response.len()).collect();
        let plain = RolloutColumns {
            rewards: &verified,
            group_sizes: &group_sizes,
            sequence_lengths: &lengths,
            process_log_ratio,
            ..RolloutColumns::default()
        };
        let advantage = match &reference {
            Some((settings, controller, log_prob)) if settings.placement == KlPlacement::Reward => {
                let token_rewards = kl_rewards(
                    settings.estimator,
                    controller.coefficient(),
                    &plain.token_rewards()?,
                    &old.log_prob,
                    log_prob,
                )?;
                let rewards = sums_of_sequences(&token_rewards, &lengths);
                let token_rewards = Some(token_rewards.as_slice());
                let columns = RolloutColumns { rewards: &rewards, token_rewards, ..plain };
                estimator.advantages(&columns)?
            }
            _ => estimator.advantages(&plain)?,
        };
        Ok(Self {
            informative: informative_groups(&verified, &group_sizes),
            advantage,
            reference_log_prob: reference.map(|(_, _, log_prob)| log_prob),
            old,
            samples,
            sampled_log_prob: None,
            correction: None,
        })
    }

    /// Takes the log-probabilities as sampled for the groups that were sampled before `step`: the policy has moved since.
    pub(super) fn with_sampling_steps(mut self, sampled_at: &[u64], step: u64) -> Self {
        if sampled_at.iter().all(|&at| at == step) {
            return self;
        }
        let group_size = self.samples.len() / sampled_at.len();
        let mut first = 0;
        let mut log_prob = self.old.log_prob.clone();
        for (index, sample) in self.samples.iter().enumerate() {
            let tokens = first..first + sample.rollout_log_prob.len();
            first = tokens.end;
            if sampled_at[index / group_size] < step {
                log_prob[tokens].copy_from_slice(&sample.rollout_log_prob);
            }
        }
        self.sampled_log_prob = Some(log_prob);
        self
    }

    /// Weighs the tokens by how far the engine that sampled them is from the policy.
    ///
    /// # Errors
    ///
    /// If a log-probability is not finite.
    pub(super) fn with_correction(
        mut self,
        correction: Option<RolloutCorrection>,
    ) -> anyhow::Result<Self> {
        if let Some(correction) = correction {
            // Of groups that waited the loss's own ratio bridges what the policy has moved since.
            let policy = self.sampled_log_prob.as_ref().unwrap_or(&self.old.log_prob);
            let drawn: Vec<f64> =
                self.samples.iter().flat_map(|s| s.rollout_log_prob.iter().copied()).collect();
            let lengths: Vec<usize> =
                self.samples.iter().map(|s| s.sequence.response.len()).collect();
            self.correction = Some(correction.weights(policy, &drawn, &lengths)?);
        }
        Ok(self)
    }

    /// Prompts and responses.
    pub(super) fn sequences(&self) -> Vec<&Sequence> {
        self.samples.iter().map(|sample| &sample.sequence).collect()
    }

    /// Mean of `log π - log π_ref` over the response tokens, in nats; `None` without a reference.
    pub(super) fn reference_kl(&self) -> Option<f64> {
        let reference = self.reference_log_prob.as_ref()?;
        let sum: f64 = self.old.log_prob.iter().zip(reference).map(|(old, r)| old - r).sum();
        Some(sum / reference.len() as f64)
    }

    /// Moves the coefficient of the divergence by what was measured.
    ///
    /// # Errors
    ///
    /// If the divergence is not finite.
    pub(super) fn move_coefficient(
        &self,
        settings: ReferenceKl,
        controller: &mut KlController,
    ) -> anyhow::Result<()> {
        let Some(reference) = &self.reference_log_prob else { return Ok(()) };
        let lengths: Vec<usize> = self.samples.iter().map(|s| s.sequence.response.len()).collect();
        let sums = kl_sums(settings.estimator, &self.old.log_prob, reference, &lengths)?;
        Ok(controller.update(sums.sequence_mean(), self.samples.len())?)
    }
}

fn sums_of_sequences(column: &[f64], lengths: &[usize]) -> Vec<f64> {
    let mut rest = column;
    lengths
        .iter()
        .map(|&length| {
            let (own, after) = rest.split_at(length);
            rest = after;
            own.iter().sum()
        })
        .collect()
}
