//! One of the responses that a request asks for.

use decoder::generation::Finish;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};

use super::tool_calls::ToolCall;

/// One response to one prompt; the columns have one entry per token.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) prompt: usize,
    pub(super) text: String,
    pub(super) token_ids: Vec<u32>,
    pub(super) log_prob: Vec<f64>,
    pub(super) top: Vec<Vec<(u32, f64)>>,
    /// Log-probabilities of the prompt's tokens, if they are scored.
    pub(super) prompt_log_prob: Vec<f64>,
    pub(super) finish: Option<Finish>,
    /// Calls of tools, which the text is without.
    pub(super) calls: Vec<ToolCall>,
    /// Number of reloads of the weights that drew it.
    pub(super) version: u64,
}

impl Choice {
    /// Text that no later token can change and that was not told yet: complete characters, and nothing that may become one of
    /// `stops`.
    pub(super) fn new_text(
        &self,
        tokenizer: &TextTokenizer,
        stops: Option<&StopStrings>,
    ) -> Result<String, TokenizerError> {
        let decoded = tokenizer.decode(&self.token_ids)?;
        let mut safe = stops.map_or(decoded.as_str(), |stops| stops.cut(&decoded));
        if self.finish.is_none() {
            // Bytes that are no character yet; then the beginnings of stop strings.
            safe = safe.trim_end_matches(char::REPLACEMENT_CHARACTER);
            safe = &safe[..safe.len() - stops.map_or(0, |stops| stops.begun_at_end(safe))];
        }
        Ok(safe.get(self.text.len()..).unwrap_or_default().to_owned())
    }
}

pub(super) fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::StopString => "stop",
        Finish::Length => "length",
    }
}
