//! Responses of a step from where the run has them: sampled, sampled and saved, or read back.

use std::path::Path;

use anyhow::ensure;
use question_data::question_order::QuestionOrder;
use training_run::config::RunConfig;
use training_run::dynamic_sampling::{SampledGroup, StepGroups};
use training_run::metrics::StepMetrics;
use training_run::saved_rollouts::{RolloutOrigin, SavedRollouts, SavedStep};

use super::Trainer;
use crate::training::measurement::Timings;
use crate::training::rollout::{Answered, Sample};

/// Where the responses of a run come from.
#[derive(Debug, Clone, Default)]
pub enum RolloutSource {
    /// Sampled.
    #[default]
    Sampled,
    /// Sampled, and written to a folder.
    Saved(SavedRollouts),
    /// Read from a folder; nothing is sampled but evaluations.
    Replayed(SavedRollouts),
}

impl RolloutSource {
    /// The source that the folders of a command line ask for; at most one is given.
    ///
    /// # Errors
    ///
    /// If a folder cannot be made or read, or the model's files cannot.
    pub fn open(
        config: &RunConfig,
        save: Option<&Path>,
        replay: Option<&Path>,
    ) -> anyhow::Result<Self> {
        Ok(match (save, replay) {
            (None, None) => Self::Sampled,
            (Some(folder), _) => {
                Self::Saved(SavedRollouts::create(folder, RolloutOrigin::of(config)?)?)
            }
            (None, Some(folder)) => {
                Self::Replayed(SavedRollouts::open(folder, RolloutOrigin::of(config)?)?)
            }
        })
    }
}

impl Trainer {
    /// The same run with its responses from `source`.
    #[must_use]
    pub fn with_rollouts(self, source: RolloutSource) -> Self {
        Self { rollouts: source, ..self }
    }

    /// The groups of a step, and a warning where other weights have sampled them.
    pub(super) fn gather(
        &mut self,
        step: u64,
        timings: &mut Timings,
        metrics: &mut StepMetrics,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<(Vec<SampledGroup<Answered>>, Option<String>)> {
        let (found, warning) = match self.rollouts.clone() {
            RolloutSource::Sampled => (self.sample(step, timings, phase)?, None),
            RolloutSource::Saved(files) => {
                let weights = self.fingerprint();
                let StepGroups { groups, statistics } = self.sample(step, timings, phase)?;
                let (cursor, waiting) = (self.order.cursor(), self.sampler.clone());
                let saved = SavedStep { step, weights, cursor, statistics, groups, waiting };
                if self.ranks.is_first() {
                    files.write(&saved)?;
                }
                let SavedStep { groups, statistics, .. } = saved;
                (StepGroups { groups, statistics }, None)
            }
            RolloutSource::Replayed(files) => self.replay(&files, step)?,
        };
        if self.config().dynamic_sampling.enabled {
            found.statistics.record(metrics);
        }
        Ok((found.groups, warning))
    }

    fn replay(
        &mut self,
        files: &SavedRollouts,
        step: u64,
    ) -> anyhow::Result<(StepGroups<Answered>, Option<String>)> {
        let saved: SavedStep<Answered> = files.read(step)?;
        for (number, group) in (1..).zip(&saved.groups) {
            if let Some(fault) = self.fault_of(&group.responses) {
                anyhow::bail!("{}: group {number}: {fault}", files.path(step).display());
            }
        }
        let questions = self.questions.prompts.len();
        let cursor = saved.cursor;
        ensure!(
            cursor.position <= questions,
            "{}: the run stood at question {} of its data, which has {questions}",
            files.path(step).display(),
            cursor.position
        );
        self.order = QuestionOrder::new(self.config().seed, questions, cursor);
        self.sampler = saved.waiting;
        let warning = (saved.weights != self.fingerprint()).then(|| {
            "the replayed responses were sampled by other weights, so the update is another too; rollout/mismatch_kl \
             says how far the two are apart"
                .to_owned()
        });
        Ok((StepGroups { groups: saved.groups, statistics: saved.statistics }, warning))
    }

    /// What makes a group none of this run's, if anything does.
    fn fault_of(&self, group: &Answered) -> Option<String> {
        let size = self.config().rollout.group_size;
        if group.samples.len() != size {
            return Some(format!("{} responses, expected {size}", group.samples.len()));
        }
        let Some(prompt) = self.questions.prompts.get(group.question) else {
            let questions = self.questions.prompts.len();
            return Some(format!("question {}, expected one below {questions}", group.question));
        };
        if group.samples.iter().any(|sample| sample.sequence.prompt != prompt.tokens) {
            let (id, number) = (&prompt.question.id, group.question);
            return Some(format!(
                "another prompt than that of question {number}, {id}: the data or its prompts were others"
            ));
        }
        let vocab_size = self.model.config().vocab_size;
        group.samples.iter().find_map(|sample| fault_of_sample(sample, vocab_size))
    }
}

fn fault_of_sample(sample: &Sample, vocab_size: usize) -> Option<String> {
    let (response, log_prob) = (&sample.sequence.response, &sample.rollout_log_prob);
    if response.len() != log_prob.len() {
        let (tokens, found) = (response.len(), log_prob.len());
        return Some(format!("{found} log-probabilities for {tokens} tokens"));
    }
    if let Some(token) = response.iter().find(|token| **token as usize >= vocab_size) {
        return Some(format!("token {token}, expected ids below vocab_size = {vocab_size}"));
    }
    let kept = sample.sequence.kept.as_ref();
    kept.and_then(|kept| kept.fault(response, vocab_size))
}
