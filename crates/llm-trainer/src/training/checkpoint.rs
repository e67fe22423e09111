//! A checkpoint: a Hugging Face directory, and beside the weights what the trainer needs to go on.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use rl_losses::{KlController, Thermostat};
use serde::{Deserialize, Serialize};
use trainer_core::config::{AlgorithmSection, CheckpointSection, GuardAction, GuardSection};
use trainer_core::dynamic_sampling::GroupSampler;
use trainer_core::metrics::read_metrics;
use trainer_core::question_order::DataCursor;
use trainer_core::retention::scores;
use trainer_core::run_directory::RunDirectory;

use super::adamw::AdamW;
use super::rollout::Answered;
use super::update::UpdateSums;
use crate::model::Decoder;

/// Folder of the trainer's own files within a checkpoint.
const FOLDER: &str = "trainer";

/// Groups that dynamic sampling has left over, within that folder; absent where there are none.
const WAITING: &str = "waiting.json";

/// What is neither weights nor optimiser moments. All noise is keyed by seed and step, so no generator is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainerState {
    /// Steps done.
    pub(super) step: u64,
    /// Optimiser steps done.
    pub(super) updates: u64,
    /// Where the run stands in its data.
    pub(super) cursor: DataCursor,
    /// Halvings of the learning rate by the guard.
    #[serde(default)]
    pub(super) back_offs: u32,
    /// Optimiser steps in a row whose gradient was not finite.
    #[serde(default)]
    pub(super) skipped_in_a_row: usize,
    /// Coefficient of the divergence from the reference.
    #[serde(default)]
    pub(super) kl: Option<KlController>,
    /// What holds the entropy.
    #[serde(default)]
    pub(super) thermostat: Option<Thermostat>,
}

impl TrainerState {
    /// The state with the controllers that the run has and the state does not yet hold.
    ///
    /// # Errors
    ///
    /// If a controller cannot be made of its settings; a checked configuration holds none such.
    pub(super) fn with_controllers(self, algorithm: &AlgorithmSection) -> anyhow::Result<Self> {
        let kl = match (self.kl, algorithm.reference_kl) {
            (None, Some(settings)) => Some(KlController::new(settings.coefficient)?),
            (held, _) => held,
        };
        let thermostat = match (self.thermostat, &algorithm.thermostat) {
            (None, Some(section)) => {
                Some(Thermostat::new(section.settings(&algorithm.policy_loss)?)?)
            }
            (held, _) => held,
        };
        Ok(Self { kl, thermostat, ..self })
    }

    /// Takes in a step: warnings, and why the run should end. `samples` is the file that holds the step's responses.
    pub(super) fn guard(
        &mut self,
        guard: &GuardSection,
        entropy: f64,
        sums: &UpdateSums,
        samples: &Path,
    ) -> (Vec<String>, Option<String>) {
        let (mut warnings, mut stop) = (Vec::new(), None);
        match guard.entropy_out_of_bounds(entropy) {
            Some(problem) if guard.action == GuardAction::Stop => stop = Some(problem),
            Some(problem) => {
                if guard.action == GuardAction::BackOff {
                    self.back_offs = (self.back_offs + 1).min(MOST_BACK_OFFS);
                }
                warnings.push(problem);
            }
            None => self.back_offs = self.back_offs.saturating_sub(1),
        }
        let all_skipped = sums.skipped_in_a_row == sums.updates;
        let before = if all_skipped { self.skipped_in_a_row } else { 0 };
        self.skipped_in_a_row = before + sums.skipped_in_a_row;
        if sums.skipped > 0 {
            let (skipped, updates, samples) = (sums.skipped, sums.updates, samples.display());
            warnings.push(format!(
                "the gradient of {skipped} of {updates} optimiser steps was not finite, and they changed nothing; the \
                 responses are in {samples}"
            ));
            let most = guard.skipped_updates;
            if most > 0 && self.skipped_in_a_row >= most {
                stop = Some(format!(
                    "the gradient was not finite {} times in a row (guard.skipped_updates = {most}); the responses are in \
                     {samples}",
                    self.skipped_in_a_row
                ));
            }
        }
        (warnings, stop)
    }
}

/// The learning rate is halved no more often than this: beyond it nothing moves anyway.
const MOST_BACK_OFFS: u32 = 20;

/// Writes the checkpoint of `state.step` and points `latest` at it.
pub(super) fn save(
    directory: &RunDirectory,
    model: &Decoder,
    optimizer: &AdamW,
    (state, sampler): (&TrainerState, &GroupSampler<Answered>),
    tokenizer_source: &Path,
    settings: &CheckpointSection,
) -> anyhow::Result<()> {
    let folder = directory.begin_checkpoint(state.step)?;
    model.save(folder.path(), tokenizer_source)?;
    let trainer = folder.path().join(FOLDER);
    std::fs::create_dir(&trainer).with_context(|| trainer.display().to_string())?;
    optimizer.save(&trainer.join("optimizer.safetensors"))?;
    let text = serde_json::to_string_pretty(state)?;
    let path = trainer.join("state.json");
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    if sampler.waiting() > 0 {
        let path = trainer.join(WAITING);
        let text = serde_json::to_string(sampler)?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    let scores = match settings.keep_best {
        0 => BTreeMap::new(),
        _ => scores(&read_metrics(&directory.metrics())?, &settings.best_metric),
    };
    let score = |step| scores.get(&step).copied();
    directory.finish_checkpoint_keeping(state.step, folder, settings.retention(), score)?;
    Ok(())
}

/// Restores the optimiser from a checkpoint and returns the rest of the state, and the groups that wait.
pub(super) fn restore(
    checkpoint: &Path,
    optimizer: &mut AdamW,
) -> anyhow::Result<(TrainerState, GroupSampler<Answered>)> {
    let trainer = checkpoint.join(FOLDER);
    optimizer.restore(&trainer.join("optimizer.safetensors"))?;
    let path = trainer.join("state.json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let state = serde_json::from_str(&text)
        .with_context(|| format!("{}: not a trainer state", path.display()))?;
    let path = trainer.join(WAITING);
    if !path.exists() {
        return Ok((state, GroupSampler::default()));
    }
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let waiting = serde_json::from_str(&text)
        .with_context(|| format!("{}: not groups that wait", path.display()))?;
    Ok((state, waiting))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(updates: usize, skipped: usize, skipped_in_a_row: usize) -> UpdateSums {
        UpdateSums { updates, skipped, skipped_in_a_row, ..UpdateSums::default() }
    }

    fn guarded(action: GuardAction) -> GuardSection {
        GuardSection { entropy_min: 0.5, action, ..GuardSection::default() }
    }

    #[test]
    fn backing_off_halves_and_doubles_back() {
        let mut state = TrainerState::default();
        let guard = guarded(GuardAction::BackOff);
        let mut take = |entropy| {
            let (warnings, stop) = state.guard(&guard, entropy, &sums(1, 0, 0), Path::new("s"));
            assert_eq!(stop, None);
            (state.back_offs, warnings.len())
        };
        assert_eq!(
            [take(0.4), take(0.3), take(0.6), take(0.6), take(0.6)],
            [(1, 1), (2, 1), (1, 0), (0, 0), (0, 0)]
        );
    }

    #[test]
    fn a_collapsed_policy_stops_the_run_where_that_is_asked_for() {
        let mut state = TrainerState::default();
        let (warnings, stop) =
            state.guard(&guarded(GuardAction::Stop), 0.4, &sums(1, 0, 0), Path::new("s"));
        assert!(warnings.is_empty());
        assert!(stop.unwrap().contains("below guard.entropy_min = 0.5"));
        assert_eq!(state.back_offs, 0);
    }

    #[test]
    fn skipped_updates_count_over_steps_until_one_is_applied() {
        let mut state = TrainerState::default();
        let guard = GuardSection::default();
        let mut take = |sums| state.guard(&guard, 1.0, &sums, Path::new("samples/step-9.jsonl"));
        let (warnings, stop) = take(sums(2, 1, 1));
        assert!(warnings[0].starts_with("the gradient of 1 of 2 optimiser steps"), "{warnings:?}");
        assert_eq!(stop, None);
        assert_eq!(take(sums(1, 1, 1)).1, None);
        let (_, stop) = take(sums(1, 1, 1));
        let stop = stop.unwrap();
        assert!(stop.contains("3 times in a row") && stop.contains("step-9.jsonl"), "{stop}");
        assert_eq!(take(sums(4, 2, 0)).1, None, "one was applied since");
    }
}
