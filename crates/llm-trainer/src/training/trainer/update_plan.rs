//! The objective of a step's updates, and the tokens that they use.

use std::path::Path;

use rl_losses::{DifficultyThermostat, PolicyLoss, Thermostat};
use training_run::config::{KlPlacement, RatioTo, RunConfig};
use training_run::metric;
use training_run::metrics::StepMetrics;
use training_run::overlong::mini_batch_size;

use super::step_record::StepRecord;
use crate::training::scored::ScoredRollout;
use crate::training::trainer_state::TrainerState;
use crate::training::update::{Buckets, Objective, UpdateBatch, UpdateSums};

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
fn annealed_loss(config: &RunConfig, done: u64) -> anyhow::Result<PolicyLoss> {
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

/// Updates the controllers and asks the guards. Returns the reason why the run should end, if it should. `samples` is the file
/// with the step's responses.
pub(super) fn control(
    state: &mut TrainerState,
    config: &RunConfig,
    scored: &ScoredRollout,
    sums: &UpdateSums,
    samples: &Path,
    record: &mut StepRecord,
) -> anyhow::Result<Option<String>> {
    let metrics = &mut record.metrics;
    if let (Some(settings), Some(controller)) = (config.algorithm.reference_kl, &mut state.kl) {
        metrics.insert(metric!("actor/kl_coef"), controller.coefficient());
        if settings.placement == KlPlacement::Loss {
            metrics.insert(metric!("actor/kl_loss"), sums.kl_loss / sums.updates as f64);
        }
        scored.move_coefficient(settings, controller)?;
    }
    if let Some(annealing) = &config.algorithm.annealing {
        // This step is among those done.
        let knob = annealing.knob.read(&annealed_loss(config, state.step.saturating_sub(1))?)?;
        metrics.insert(metric!("control/knob"), knob);
    }
    let entropy = metrics.get("actor/entropy").unwrap_or(f64::NAN);
    if let Some(thermostat) = &mut state.thermostat {
        metrics.insert(metric!("control/knob"), thermostat.knob());
        metrics.insert(metric!("control/target_entropy"), thermostat.target());
        if entropy.is_finite() {
            thermostat.update(entropy)?;
        }
        let saturated = thermostat.saturated_steps() as f64;
        metrics.insert(metric!("control/saturated_steps"), saturated);
    }
    if let Some(thermostats) = &mut state.by_difficulty {
        control_by_difficulty(thermostats, scored, metrics)?;
    }
    if let Some(controller) = &mut state.adaptive_entropy {
        metrics.insert(metric!("actor/entropy_coeff"), controller.coefficient());
        if entropy.is_finite() {
            controller.update(entropy)?;
        }
    }
    metrics.insert(metric!("training/skipped_updates"), sums.skipped as f64);
    metrics.insert(metric!("control/rate_factor"), state.rate_factor());
    let effective = metrics.get("rollout/correction_effective_fraction");
    let (mismatch, engine_end) = state.guard_engine(&config.guard, effective);
    let (warnings, end_reason) = state.guard(&config.guard, entropy, sums, samples);
    record.warnings.splice(0..0, warnings.into_iter().chain(mismatch));
    Ok(end_reason.or(engine_end))
}

/// Updates the thermostat of each difficulty bucket by the entropy of its prompts.
fn control_by_difficulty(
    thermostats: &mut DifficultyThermostat,
    scored: &ScoredRollout,
    metrics: &mut StepMetrics,
) -> anyhow::Result<()> {
    let knobs = thermostats.knobs();
    let (buckets, lengths) = (scored.buckets(thermostats), scored.layout.lengths());
    let entropies = thermostats.entropies(&buckets, lengths, &scored.columns.old.entropy);
    let (hardest, easiest) = (0, knobs.len() - 1);
    metrics.insert(metric!("control/knob_hardest"), knobs[hardest]);
    metrics.insert(metric!("control/knob_easiest"), knobs[easiest]);
    metrics.insert(metric!("control/target_entropy"), thermostats.thermostats()[hardest].target());
    if let Some(entropy) = entropies[hardest] {
        metrics.insert(metric!("control/entropy_hardest"), entropy);
    }
    if let Some(entropy) = entropies[easiest] {
        metrics.insert(metric!("control/entropy_easiest"), entropy);
    }
    if entropies.iter().flatten().all(|entropy| entropy.is_finite()) {
        thermostats.update(&entropies)?;
    }
    let saturated = thermostats.thermostats().iter().map(Thermostat::saturated_steps).max();
    metrics.insert(metric!("control/saturated_steps"), saturated.unwrap_or(0) as f64);
    Ok(())
}
