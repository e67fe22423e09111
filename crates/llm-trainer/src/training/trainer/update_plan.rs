//! The objective of a step's updates, and the tokens that they use.

use rl_losses::PolicyLoss;
use training_run::config::{KlPlacement, RatioTo, RunConfig};
use training_run::overlong::mini_batch_size;

use crate::training::scored::ScoredRollout;
use crate::training::trainer_state::TrainerState;
use crate::training::update::{Buckets, Objective, UpdateBatch};

/// The objective of a step, and the sequences that take part. Each loss plans over every mini-batch of them.
#[derive(Debug)]
pub(super) struct UpdatePlan<'a> {
    pub(super) objective: Objective,
    pub(super) peak_rate: f64,
    /// Indices, within the rollout, of the sequences that take part.
    pub(super) chosen: Vec<usize>,
    pub(super) batch: UpdateBatch<'a>,
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
        let mut columns = scored.columns.map(|column| layout.select(column, &chosen));
        if config.algorithm.ratio_to == RatioTo::Rollout {
            columns.sampled_log_prob = Some(columns.rollout_log_prob.clone());
        }
        let by_difficulty = state.by_difficulty.as_ref().map(|thermostats| {
            let buckets = scored.buckets(thermostats);
            let buckets = chosen.iter().map(|&i| buckets[i]).collect();
            Buckets { buckets, fractions: thermostats.knobs() }
        });
        let sequences = chosen.iter().map(|&i| &samples[i].sequence).collect();
        Ok(Self {
            objective: objective(config, state)?,
            peak_rate: config.optimizer.learning_rate * state.rate_factor(),
            batch: UpdateBatch { sequences, columns, by_difficulty, mini_batch_sequences },
            chosen,
        })
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
