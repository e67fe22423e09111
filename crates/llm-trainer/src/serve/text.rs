//! The text of a response while its tokens come.

use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};

/// Emits text as soon as no later token can change it: complete characters, and nothing that may become a stop string.
#[derive(Debug, Default)]
pub(super) struct PartialText {
    token_ids: Vec<u32>,
    /// Bytes told.
    told: usize,
}

impl PartialText {
    /// Takes a token and gives the text that is new; `stops` with their texts.
    pub(super) fn push(
        &mut self,
        token_id: u32,
        is_last: bool,
        tokenizer: &TextTokenizer,
        stops: Option<&StopStrings>,
    ) -> Result<String, TokenizerError> {
        self.token_ids.push(token_id);
        let decoded = tokenizer.decode(&self.token_ids)?;
        let cut = stops.map_or(decoded.as_str(), |stops| stops.cut(&decoded));
        let safe = if is_last {
            cut
        } else {
            // Bytes that are no character yet; then the beginnings of stop strings.
            let cut = cut.trim_end_matches(char::REPLACEMENT_CHARACTER);
            &cut[..cut.len() - stops.map_or(0, |stops| stops.begun_at_end(cut))]
        };
        let new = safe.get(self.told..).unwrap_or_default().to_owned();
        self.told += new.len();
        Ok(new)
    }
}
