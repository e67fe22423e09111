//! The source of a step's responses: sampled, sampled and saved, or replayed.

use std::path::Path;

use decoder::routes::RouteShape;
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

/// The reason why a group cannot belong to this run, if there is one; `group_size` and `prompts` are the run's.
pub(super) fn fault_of(
    group: &QuestionGroup,
    group_size: usize,
    prompts: &[Prompt],
    (vocab_size, routes): (usize, Option<RouteShape>),
    has_environment: bool,
) -> Option<String> {
    if group.samples.len() != group_size {
        return Some(format!("{} responses, expected {group_size}", group.samples.len()));
    }
    let Some(prompt) = prompts.get(group.question) else {
        let questions = prompts.len();
        return Some(format!("question {}, expected one below {questions}", group.question));
    };
    // A harness writes its own prompts.
    let differs = |sample: &Sample| sample.sequence.prompt != prompt.tokens;
    if !has_environment && group.samples.iter().any(differs) {
        let (id, number) = (&prompt.question.id, group.question);
        return Some(format!(
            "another prompt than that of question {number}, {id}: the data or its prompts were others"
        ));
    }
    group.samples.iter().find_map(|Sample { sequence, rollout_log_prob, .. }| {
        let (tokens, count) = (sequence.response.len(), rollout_log_prob.len());
        if tokens != count {
            return Some(format!("{count} log-probabilities for {tokens} tokens"));
        }
        sequence.fault(vocab_size, routes)
    })
}
