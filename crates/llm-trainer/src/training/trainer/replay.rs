//! The source of a step's responses: sampled, sampled and saved, or replayed.

use std::path::Path;

use question_data::prompt::Prompt;
use training_run::config::RunConfig;
use training_run::saved_rollouts::{RolloutOrigin, SavedRollouts};

use crate::training::sample::{QuestionGroup, Sample};

/// Source of a run's responses.
#[derive(Debug, Clone, Default)]
pub(crate) enum RolloutSource {
    #[default]
    Sampled,
    /// Responses are sampled and written to a folder.
    Saved(SavedRollouts),
    /// Responses are read from a folder; only evaluations sample.
    Replayed(SavedRollouts),
}

impl RolloutSource {
    /// The source for the folders given on the command line; at most one is given.
    pub(crate) fn open(
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

/// Describes the difference of a group that was sampled with another prompt than this; `None` if there is none.
pub(super) fn other_prompt(group: &QuestionGroup, prompt: &Prompt) -> Option<String> {
    let differs = |sample: &Sample| sample.sequence.prompt != prompt.tokens;
    group.samples.iter().any(differs).then(|| {
        let (id, number) = (&prompt.question.id, group.question);
        format!(
            "another prompt than that of question {number}, {id}: the data or its prompts were others"
        )
    })
}
