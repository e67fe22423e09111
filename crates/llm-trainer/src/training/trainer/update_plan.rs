//! The objective of a step's updates, and the tokens that they use.

use rl_losses::{CustomLoss, PolicyLoss};
use training_run::config::{KlPlacement, RatioTo, RunConfig};
use training_run::overlong::mini_batch_size;

use crate::training::local_shard::Buckets;
use crate::training::policy_pass::{Sequence, Statistics};
use crate::training::scored::ScoredRollout;
use crate::training::trainer_state::TrainerState;
use crate::training::update::{Objective, UpdateBatch};

/// The objective of a step, and the columns of the sequences that take part. Each loss plans over every mini-batch of them.
#[derive(Debug)]
pub(super) struct UpdatePlan<'a> {
    pub(super) objective: Objective,
    /// Peak learning rate.
    pub(super) peak_rate: f64,
    /// Indices, within the rollout, of the sequences that take part.
    pub(super) chosen: Vec<usize>,
    sequences: Vec<&'a Sequence>,
    advantage: Vec<f64>,
    rollout_log_prob: Vec<f64>,
    reference_log_prob: Option<Vec<f64>>,
    sampled_log_prob: Option<Vec<f64>>,
    token_weights: Option<Vec<f64>>,
    by_difficulty: Option<(Vec<usize>, Vec<f64>)>,
    old: Statistics,
    mini_batch_sequences: usize,
}

impl<'a> UpdatePlan<'a> {
    /// Plans the update of a run in `state` for a scored rollout.
    pub(super) fn new(
        config: &RunConfig,
        state: &TrainerState,
        scored: &'a ScoredRollout,
    ) -> anyhow::Result<Self> {
        let ScoredRollout { samples, layout, .. } = scored;
        let taught = scored.taught(config.algorithm.drop_uninformative_groups);
        let overlong = config.reward.overlong;
        let takes_part = |i: &usize| overlong.takes_part(samples[*i].truncated);
        let chosen: Vec<usize> = taught.iter().copied().filter(takes_part).collect();
        let configured = config.algorithm.mini_batch_prompts * config.rollout.group_size;
        let mini_batch_sequences = mini_batch_size(configured, taught.len(), chosen.len());
        let select = |column: &[f64]| layout.select(column, &chosen);
        let rollout_log_prob = select(&scored.rollout_log_prob());
        let sampled_log_prob = match config.algorithm.ratio_to {
            RatioTo::Old => scored.sampled_log_prob.as_deref().map(select),
            RatioTo::Rollout => Some(rollout_log_prob.clone()),
        };
        let sequences: Vec<&Sequence> = chosen.iter().map(|&i| &samples[i].sequence).collect();
        Ok(Self {
            objective: objective(config, state)?,
            peak_rate: config.optimizer.learning_rate * state.rate_factor(),
            advantage: select(&scored.advantage),
            rollout_log_prob,
            reference_log_prob: scored.reference_log_prob.as_deref().map(select),
            sampled_log_prob,
            token_weights: scored.correction.as_ref().map(|correction| select(&correction.weights)),
            by_difficulty: state.by_difficulty.as_ref().map(|thermostats| {
                let buckets = scored.buckets(thermostats);
                (chosen.iter().map(|&i| buckets[i]).collect(), thermostats.knobs())
            }),
            old: scored.old.select(layout, &chosen),
            mini_batch_sequences,
            sequences,
            chosen,
        })
    }

    /// Evaluates this loss, if it is one, in place of the configured one.
    pub(super) fn with_loss(mut self, loss: Option<&CustomLoss>) -> Self {
        self.objective.custom_loss = loss.cloned();
        self
    }

    /// The columns as an update takes them.
    pub(super) fn batch(&self) -> UpdateBatch<'_> {
        UpdateBatch {
            sequences: &self.sequences,
            advantage: &self.advantage,
            rollout_log_prob: &self.rollout_log_prob,
            reference_log_prob: self.reference_log_prob.as_deref(),
            sampled_log_prob: self.sampled_log_prob.as_deref(),
            token_weights: self.token_weights.as_deref(),
            by_difficulty: self
                .by_difficulty
                .as_ref()
                .map(|(buckets, fractions)| Buckets { buckets, fractions }),
            old: &self.old,
            mini_batch_sequences: self.mini_batch_sequences,
        }
    }
}

/// The loss of the step after `done` steps, its number moved if it is annealed.
pub(super) fn annealed_loss(config: &RunConfig, done: u64) -> anyhow::Result<PolicyLoss> {
    let algorithm = &config.algorithm;
    let Some(annealing) = &algorithm.annealing else { return Ok(algorithm.policy_loss) };
    let share = done as f64 / config.training.steps as f64;
    Ok(annealing.at(&algorithm.policy_loss, share)?)
}

/// The configured loss, with the number that a thermostat or an annealing moves.
fn objective(config: &RunConfig, state: &TrainerState) -> anyhow::Result<Objective> {
    let algorithm = &config.algorithm;
    let policy_loss: PolicyLoss = match (&algorithm.thermostat, &state.thermostat) {
        (Some(section), Some(thermostat)) => {
            section.knob.set(&algorithm.policy_loss, thermostat.knob())?
        }
        _ => annealed_loss(config, state.step)?,
    };
    let in_loss = algorithm.reference_kl.filter(|settings| settings.placement == KlPlacement::Loss);
    let reference_kl = in_loss
        .zip(state.kl)
        .map(|(settings, controller)| (settings.estimator, controller.coefficient()));
    Ok(Objective {
        policy_loss,
        custom_loss: None,
        aggregation: algorithm.aggregation,
        entropy_coefficient: state
            .adaptive_entropy
            .map_or(algorithm.entropy_coefficient, |controller| controller.coefficient()),
        reference_kl,
        epochs: algorithm.epochs,
    })
}
