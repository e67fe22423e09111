//! The text of responses, and where they end.

use std::sync::Arc;

use decoder::generation::GenerationOptions;
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use training_run::config::{RolloutSection, RunConfig};

/// Converts token ids to the text of a response, and defines where it ends.
#[derive(Debug)]
pub(super) struct ResponseText {
    pub(super) tokenizer: TextTokenizer,
    /// Tokens that end a response according to the model's files.
    pub(super) end_ids: Vec<u32>,
    /// `end_ids`, and the stop tokens of the run's configuration.
    pub(super) stop_ids: Vec<u32>,
    /// Texts that end a response and are not judged.
    stop_strings: Option<Arc<StopStrings>>,
}

impl ResponseText {
    /// All of a response, as `tokenizer` decodes it.
    pub(super) fn plain(tokenizer: TextTokenizer) -> Self {
        Self { tokenizer, end_ids: Vec::new(), stop_ids: Vec::new(), stop_strings: None }
    }

    /// Loads the tokenizer and stop settings from the model's directory and the configuration.
    pub(super) fn load(config: &RunConfig) -> anyhow::Result<Self> {
        let tokenizer = TextTokenizer::load(&config.model.path)?;
        let end_ids = tokenizer.eos_ids(&config.model.path)?;
        let (special, stop_strings) = StopStrings::split(&tokenizer, &config.rollout.stop)?;
        let mut stop_ids = end_ids.clone();
        stop_ids.extend(config.rollout.stop_token_ids.iter().chain(&special));
        Ok(Self { tokenizer, end_ids, stop_ids, stop_strings: stop_strings.map(Arc::new) })
    }

    /// The text of a response up to a stop string.
    pub(super) fn decode(&self, token_ids: &[u32]) -> Result<String, TokenizerError> {
        let text = self.tokenizer.decode(token_ids)?;
        Ok(self.stop_strings.as_ref().map_or(text.as_str(), |stops| stops.cut(&text)).to_owned())
    }

    /// Options for sampling `samples` responses to each prompt.
    pub(super) fn options(
        &self,
        section: &RolloutSection,
        samples: usize,
        sampling: Sampling,
    ) -> GenerationOptions {
        GenerationOptions {
            samples,
            max_new_tokens: section.max_response_tokens,
            sampling,
            stop_ids: self.stop_ids.clone(),
            stop_strings: self.stop_strings.clone(),
            rows: section.rows,
            cpu_kernels: section.cpu_kernels,
            ..GenerationOptions::default()
        }
    }
}
