//! The questions of a run as prompts, with notes about oddities.

use anyhow::bail;
use model_files::chat_template::ChatTemplate;
use model_files::text_tokenizer::TextTokenizer;
use question_data::arithmetic::Split;
use question_data::dataset::DataSource;
use question_data::prompt::Prompts;
use training_run::config::RunConfig;

use crate::training::judge::known_answer;

#[derive(Debug)]
pub(super) struct RunQuestions {
    pub(super) questions: Prompts,
    pub(super) held_out: Option<Prompts>,
    /// Notes for the user about the questions, one sentence each.
    pub(super) notes: Vec<String>,
}

impl RunQuestions {
    /// Reads the questions that `config` names. An error names the file, row, answer or prompt.
    pub(super) fn load(config: &RunConfig, tokenizer: &TextTokenizer) -> anyhow::Result<Self> {
        let (data, kinds) = (&config.data, config.reward.kinds());
        let chat_template = ChatTemplate::load(&config.model.path)?;
        let mut notes = Vec::new();
        let mut load = |name: &str, source: &DataSource, split, most: usize| {
            let set = source.load(split, &kinds)?;
            let mut set_notes = set.notes();
            let mut questions = set.questions;
            questions.truncate(most);
            let prompts = data.prompt.prompts(
                questions,
                tokenizer,
                chat_template.as_ref(),
                data.max_prompt_tokens,
                data.over_long_prompts,
            )?;
            set_notes.extend(prompts.notes());
            notes.extend(set_notes.into_iter().map(|note| format!("data.{name}: {note}")));
            anyhow::Ok(prompts)
        };
        let questions = load("train", &data.train, Split::Train, usize::MAX)?;
        let most = match config.evaluation.questions {
            0 => usize::MAX,
            most => most,
        };
        let held_out = data.evaluation.as_ref();
        let held_out = held_out.map(|source| load("evaluation", source, Split::HeldOut, most));
        let held_out = held_out.transpose()?;
        if let Some(set) = &held_out {
            let has = |name: &str| set.prompts.iter().any(|prompt| prompt.question.source == name);
            if let Some(name) = config.evaluation.by_source.keys().find(|name| !has(name)) {
                bail!(
                    "evaluation.by_source.{name}: no question of data.evaluation has this source"
                );
            }
        }
        // Checked before sampling starts: an answer may be readable, yet not with this run's settings.
        let all = questions.prompts.iter().chain(held_out.iter().flat_map(|set| &set.prompts));
        for question in all.map(|prompt| &prompt.question) {
            known_answer(kinds.of(&question.source), question, &config.reward.grading)?;
        }
        Ok(Self { questions, held_out, notes })
    }
}
