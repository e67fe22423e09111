//! Updates the controllers and guards of a run from a step's measurements.

use std::path::Path;

use rl_losses::{DifficultyThermostat, Thermostat};
use training_run::config::{KlPlacement, RunConfig};
use training_run::metric;
use training_run::metrics::StepMetrics;

use super::step_record::StepRecord;
use super::update_plan::annealed_loss;
use crate::training::scored::ScoredRollout;
use crate::training::trainer_state::TrainerState;
use crate::training::update::UpdateSums;

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
