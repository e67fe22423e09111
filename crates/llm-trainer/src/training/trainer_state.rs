//! The state of a run beside its weights: counts, position in the data, controllers and guard.

use std::path::Path;

use question_data::question_order::DataCursor;
use rl_losses::{AdaptiveEntropyController, DifficultyThermostat, KlController, Thermostat};
use serde::{Deserialize, Serialize};
use training_run::config::{AlgorithmSection, GuardAction, GuardSection};

use super::update::UpdateSums;

/// Trainer state other than weights and optimiser moments. All noise is keyed by seed and step, so no generator is saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainerState {
    /// True if the checkpoint has checksums; checkpoints of earlier versions have none.
    #[serde(default)]
    pub(super) has_manifest: bool,
    pub(super) step: u64,
    pub(super) updates: u64,
    #[serde(default)]
    pub(super) reward_model_updates: u64,
    pub(super) cursor: DataCursor,
    /// Number of halvings of the learning rate by the guard.
    #[serde(default)]
    pub(super) back_offs: u32,
    /// Number of consecutive optimiser steps whose gradient was not finite.
    #[serde(default)]
    pub(super) skipped_in_a_row: usize,
    /// Number of consecutive steps whose engine drew from another policy.
    #[serde(default)]
    pub(super) mismatched_in_a_row: usize,
    /// Controller of the coefficient of the divergence from the reference.
    #[serde(default)]
    pub(super) kl: Option<KlController>,
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
    pub(super) fn with_controllers(self, algorithm: &AlgorithmSection) -> anyhow::Result<Self> {
        let kl = algorithm.reference_kl.map(|reference| {
            let fresh = KlController::new(reference.coefficient)?;
            anyhow::Ok(kept_or(self.kl, fresh, &reference.coefficient))
        });
        let (mut thermostat, mut by_difficulty) = (None, None);
        if let Some(section) = &algorithm.thermostat {
            let settings = section.settings(&algorithm.policy_loss)?;
            if let Some(settings) = section.by_difficulty(&algorithm.policy_loss)? {
                let kept = self.by_difficulty.filter(|kept| kept.has_settings(&settings));
                by_difficulty =
                    Some(kept.map_or_else(|| DifficultyThermostat::new(&settings), Ok)?);
            } else {
                let fresh = Thermostat::new(settings)?;
                thermostat = Some(kept_or(self.thermostat, fresh, &settings));
            }
        }
        let adaptive_entropy = algorithm.adaptive_entropy.map(|settings| {
            let fresh = AdaptiveEntropyController::new(settings)?;
            anyhow::Ok(kept_or(self.adaptive_entropy, fresh, &settings))
        });
        let (kl, adaptive_entropy) = (kl.transpose()?, adaptive_entropy.transpose()?);
        Ok(Self { kl, thermostat, by_difficulty, adaptive_entropy, ..self })
    }

    /// Factor of the learning rate set by the guard, above 0 and at most 1.
    pub(super) fn rate_factor(&self) -> f64 {
        0.5f64.powi(self.back_offs.cast_signed())
    }

    /// The first count that no run can reach, with the expected bound; `None` if there is none.
    pub(super) fn first_fault(&self) -> Option<String> {
        // Far beyond any run, and far below an overflow.
        const MOST_STEPS: u64 = 1 << 48;
        let counts = [
            ("step", self.step, MOST_STEPS),
            ("updates", self.updates, MOST_STEPS),
            ("reward_model_updates", self.reward_model_updates, MOST_STEPS),
            ("back_offs", self.back_offs.into(), MOST_BACK_OFFS.into()),
            ("skipped_in_a_row", self.skipped_in_a_row as u64, MOST_STEPS),
            ("mismatched_in_a_row", self.mismatched_in_a_row as u64, MOST_STEPS),
        ];
        let fault = |(field, value, most): (&str, u64, u64)| {
            (value > most).then(|| format!("`{field}` is {value}, expected at most {most}"))
        };
        counts.into_iter().find_map(fault)
    }

    /// Records a step, whose responses are in the file `samples`. Returns warnings and, if the run should end, the reason.
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

    /// Records the effective fraction of a step's tokens, if an engine of its own sampled them. Returns a warning and, if the run
    /// should end, the reason.
    pub(super) fn guard_engine(
        &mut self,
        guard: &GuardSection,
        effective: Option<f64>,
    ) -> (Option<String>, Option<String>) {
        let least = guard.effective_fraction_min;
        let Some(effective) = effective.filter(|&effective| effective < least) else {
            self.mismatched_in_a_row = 0;
            return (None, None);
        };
        self.mismatched_in_a_row += 1;
        let problem = format!(
            "the engine draws from another policy: the effective fraction of its tokens is {effective:.3}, below \
             guard.effective_fraction_min = {least}"
        );
        let (count, most) = (self.mismatched_in_a_row, guard.mismatched_steps);
        let ends = most > 0 && count >= most;
        let stop = ends.then(|| format!("{problem}, {count} steps in a row"));
        (Some(problem), stop)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(updates: usize, skipped: usize, skipped_in_a_row: usize) -> UpdateSums {
        UpdateSums { updates, skipped, skipped_in_a_row, ..UpdateSums::default() }
    }

    #[test]
    fn backing_off_halves_and_doubles_back() {
        let mut state = TrainerState::default();
        let action = GuardAction::BackOff;
        let guard = GuardSection { entropy_min: 0.5, action, ..GuardSection::default() };
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
    fn an_engine_of_another_policy_ends_the_run_after_warnings() {
        let mut state = TrainerState::default();
        let guard = GuardSection::default();
        let mut take = |effective| {
            let (warning, stop) = state.guard_engine(&guard, effective);
            (warning.is_some(), stop)
        };
        let low = Some(0.4);
        assert_eq!(
            [take(low), take(low), take(Some(0.5))],
            [(true, None), (true, None), (false, None)]
        );
        assert_eq!(
            [take(low), take(None), take(low), take(low)].map(|one| one.1),
            [const { None }; 4]
        );
        let stop = take(low).1.unwrap();
        assert!(
            stop.ends_with("is 0.400, below guard.effective_fraction_min = 0.5, 3 steps in a row"),
            "{stop}"
        );
        let never = GuardSection { effective_fraction_min: 0.0, ..guard };
        assert_eq!(state.guard_engine(&never, Some(0.0)), (None, None));
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
