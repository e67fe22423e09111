//! A checkpoint: a Hugging Face directory with the weights, and beside them the trainer's state.

mod checksums;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use messages::plain_words;
use question_data::question_order::DataCursor;
use rl_losses::{AdaptiveEntropyController, DifficultyThermostat, KlController, Thermostat};
use serde::{Deserialize, Serialize};
use training_run::config::{AlgorithmSection, GuardAction, GuardSection, RunConfig};
use training_run::dynamic_sampling::GroupSampler;
use training_run::manifest::Manifest;
use training_run::metrics::read_metrics;
use training_run::retention::scores;
use training_run::run_directory::RunDirectory;
use training_run::run_directory::{STATE_FILE, TRAINER_FOLDER};
use whole_file::{LONGEST_TEXT_BYTES, read_at_most};

use super::adamw::{AdamW, WHOLE};
use super::reward_model::RewardModel;
use super::rollout::QuestionGroup;
use super::update::UpdateSums;
use decoder::model::Decoder;
use ranks::DeviceMesh;

pub(crate) use checksums::checked;
pub(super) use checksums::save_shard;

/// Groups left over by dynamic sampling, within that folder; absent if there are none.
const WAITING: &str = "waiting.json";

/// Trainer state other than weights and optimiser moments. All noise is keyed by seed and step, so no generator is saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainerState {
    /// True if the checkpoint has checksums; checkpoints of earlier versions have none.
    #[serde(default)]
    has_manifest: bool,
    /// Number of training steps done.
    pub(super) step: u64,
    /// Number of optimiser steps done.
    pub(super) updates: u64,
    /// Number of optimiser steps of the reward model done.
    #[serde(default)]
    pub(super) reward_model_updates: u64,
    /// Position of the run in its data.
    pub(super) cursor: DataCursor,
    /// Number of halvings of the learning rate by the guard.
    #[serde(default)]
    pub(super) back_offs: u32,
    /// Number of consecutive optimiser steps whose gradient was not finite.
    #[serde(default)]
    pub(super) skipped_in_a_row: usize,
    /// Controller of the coefficient of the divergence from the reference.
    #[serde(default)]
    pub(super) kl: Option<KlController>,
    /// Controller of the entropy.
    #[serde(default)]
    pub(super) thermostat: Option<Thermostat>,
    /// Controllers of the entropy of each difficulty bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by_difficulty: Option<DifficultyThermostat>,
    /// Controller of the weight of the entropy bonus.
    #[serde(default)]
    pub(super) adaptive_entropy: Option<AdaptiveEntropyController>,
}

impl TrainerState {
    /// The state with fresh controllers wherever the run has one that the state lacks, or has with other settings. The latter
    /// happens when a run branches off another.
    ///
    /// # Errors
    ///
    /// If a controller cannot be made from its settings; a checked configuration has none such.
    pub(super) fn with_controllers(self, algorithm: &AlgorithmSection) -> anyhow::Result<Self> {
        let kl = match algorithm.reference_kl {
            Some(settings) => Some(kept_or(
                self.kl,
                KlController::new(settings.coefficient)?,
                &settings.coefficient,
            )),
            None => None,
        };
        let (mut thermostat, mut by_difficulty) = (None, None);
        if let Some(section) = &algorithm.thermostat {
            let settings = section.settings(&algorithm.policy_loss)?;
            if let Some(settings) = section.by_difficulty(&algorithm.policy_loss)? {
                let kept = self.by_difficulty.filter(|kept| kept.has_settings(&settings));
                by_difficulty = Some(match kept {
                    Some(kept) => kept,
                    None => DifficultyThermostat::new(&settings)?,
                });
            } else {
                let fresh = Thermostat::new(settings)?;
                thermostat = Some(kept_or(self.thermostat, fresh, &settings));
            }
        }
        let adaptive_entropy = match algorithm.adaptive_entropy {
            Some(settings) => Some(kept_or(
                self.adaptive_entropy,
                AdaptiveEntropyController::new(settings)?,
                &settings,
            )),
            None => None,
        };
        Ok(Self { kl, thermostat, by_difficulty, adaptive_entropy, ..self })
    }

    /// Factor of the learning rate set by the guard, above 0 and at most 1.
    pub(super) fn rate_factor(&self) -> f64 {
        0.5f64.powi(self.back_offs.cast_signed())
    }

    /// The first count that no run can reach, with the expected bound; `None` if there is none.
    fn first_fault(&self) -> Option<String> {
        // Far beyond any run, and far below an overflow.
        const MOST_STEPS: u64 = 1 << 48;
        let Self { step, updates, reward_model_updates, back_offs, .. } = *self;
        let counts = [
            ("step", step, MOST_STEPS),
            ("updates", updates, MOST_STEPS),
            ("reward_model_updates", reward_model_updates, MOST_STEPS),
        ];
        let mut counts =
            counts.into_iter().chain([("back_offs", back_offs.into(), MOST_BACK_OFFS.into())]);
        let fault = |(field, value, most): (&str, u64, u64)| {
            (value > most).then(|| format!("`{field}` is {value}, expected at most {most}"))
        };
        counts.find_map(fault)
    }

    /// Records a step. Returns warnings and, if the run should end, the reason. `samples` is the file with the step's
    /// responses.
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

/// The saved controller if it has these settings, else a fresh one.
fn kept_or<C: Serialize>(kept: Option<C>, fresh: C, settings: &impl Serialize) -> C {
    let same = |controller: &C| {
        let written = serde_json::to_value(controller).unwrap_or_default();
        serde_json::to_value(settings).is_ok_and(|settings| written["settings"] == settings)
    };
    kept.filter(same).unwrap_or(fresh)
}

/// Largest number of halvings of the learning rate: beyond it the parameters no longer move.
const MOST_BACK_OFFS: u32 = 20;

/// Content of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot<'a> {
    pub(super) model: &'a Decoder,
    pub(super) optimizer: &'a AdamW,
    pub(super) reward_model: Option<&'a RewardModel>,
    pub(super) state: &'a TrainerState,
    /// Groups that wait for a later step.
    pub(super) waiting: &'a GroupSampler<QuestionGroup>,
}

/// Writes the checkpoint of the snapshot's step, with checksums of its files, and points `latest` at it. Only the first rank
/// calls it; if the optimiser's state is sharded, the others [write their shards](save_shard).
pub(super) fn save(
    snapshot: Snapshot<'_>,
    mesh: &DeviceMesh,
    directory: &RunDirectory,
    config: &RunConfig,
) -> anyhow::Result<()> {
    let Snapshot { model, optimizer, reward_model, state, waiting } = snapshot;
    let (tokenizer_source, settings) = (&config.model.path, &config.checkpoint);
    let folder = directory.begin_checkpoint(state.step)?;
    model.save(folder.path(), tokenizer_source)?;
    let trainer = folder.path().join(TRAINER_FOLDER);
    std::fs::create_dir(&trainer).with_context(|| trainer.display().to_string())?;
    let mut manifest = Manifest::default();
    if optimizer.is_sharded() || optimizer.is_tensor_parallel() {
        manifest.files = save_shard(mesh, optimizer, Some(&trainer))?;
    } else {
        optimizer.save(&trainer.join(WHOLE))?;
    }
    if let Some(reward_model) = reward_model {
        reward_model.save(folder.path(), tokenizer_source)?;
    }
    let text = serde_json::to_string_pretty(&TrainerState { has_manifest: true, ..state.clone() })?;
    let path = trainer.join(STATE_FILE);
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    if waiting.waiting() > 0 {
        let path = trainer.join(WAITING);
        let text = serde_json::to_string(waiting)?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    manifest.complete(folder.path())?.write(folder.path())?;
    let scores = match settings.keep_best {
        0 => BTreeMap::new(),
        _ => scores(&read_metrics(&directory.metrics())?, &settings.best_metric),
    };
    let score = |step| scores.get(&step).copied();
    directory.finish_checkpoint_keeping(state.step, folder, settings.retention(), score)?;
    Ok(())
}

/// Bounds that the parts of a checkpoint must fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Number of questions of the run.
    pub(super) questions: usize,
    /// Number of responses to each question.
    pub(super) group_size: usize,
    /// Number of tokens of the model's vocabulary.
    pub(super) vocab_size: usize,
}

/// Largest size of the file of waiting groups: tens of thousands of long responses.
const LONGEST_WAITING_BYTES: u64 = 4 << 30;

/// Restores the optimiser from a checkpoint. Returns the trainer state and the waiting groups.
pub(super) fn restore(
    checkpoint: &Path,
    optimizer: &mut AdamW,
    bounds: Bounds,
) -> anyhow::Result<(TrainerState, GroupSampler<QuestionGroup>)> {
    let trainer = checkpoint.join(TRAINER_FOLDER);
    optimizer.restore_from(&trainer)?;
    let path = trainer.join(STATE_FILE);
    let text =
        read_at_most(&path, LONGEST_TEXT_BYTES).with_context(|| path.display().to_string())?;
    let state: TrainerState = serde_json::from_slice(&text)
        .map_err(|error| unreadable(&path, "not a trainer state", &error))?;
    if let Some(fault) = state.first_fault() {
        anyhow::bail!("{}: {fault}", path.display());
    }
    let path = trainer.join(WAITING);
    if !path.exists() {
        return Ok((state, GroupSampler::default()));
    }
    let text =
        read_at_most(&path, LONGEST_WAITING_BYTES).with_context(|| path.display().to_string())?;
    let waiting: GroupSampler<QuestionGroup> = serde_json::from_slice(&text)
        .map_err(|error| unreadable(&path, "not groups that wait", &error))?;
    for (index, group) in waiting.waiting_groups().enumerate() {
        if let Some(fault) = bounds.first_fault(&group.responses) {
            anyhow::bail!("{}: group {index}: {fault}", path.display());
        }
    }
    Ok((state, waiting))
}

/// Names the file, what it should hold, and the parser's fault in plain words.
fn unreadable(path: &Path, fault: &str, error: &serde_json::Error) -> anyhow::Error {
    anyhow::anyhow!("{}: {fault}: {}", path.display(), plain_words(&error.to_string()))
}

impl Bounds {
    /// The first mismatch of a group, with the expected value; `None` if the group fits.
    fn first_fault(&self, group: &QuestionGroup) -> Option<String> {
        let Self { questions, group_size, vocab_size } = *self;
        if group.question >= questions {
            return Some(format!("question {} of {questions}: other data", group.question));
        }
        if group.samples.len() != group_size {
            return Some(format!("{} responses, expected {group_size}", group.samples.len()));
        }
        group.samples.iter().find_map(|sample| {
            let (prompt, response) = (&sample.sequence.prompt, &sample.sequence.response);
            let foreign = prompt.iter().chain(response).find(|&&id| id as usize >= vocab_size);
            if let Some(id) = foreign {
                return Some(format!(
                    "token id {id}, expected ids below vocab_size = {vocab_size}"
                ));
            }
            if prompt.is_empty() {
                return Some("an empty prompt, expected at least one token".to_owned());
            }
            let mask = sample.sequence.mask.as_ref();
            if let Some(fault) = mask.and_then(|mask| mask.fault(response, vocab_size)) {
                return Some(fault);
            }
            let (count, expected) = (sample.rollout_log_prob.len(), response.len());
            (count != expected)
                .then(|| format!("{count} log-probabilities of {expected} response tokens"))
        })
    }
}

#[cfg(test)]
mod damaged;

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
