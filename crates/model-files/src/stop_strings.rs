//! Stop strings: texts that end a response, at any place relative to token boundaries.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::text_tokenizer::{TextTokenizer, TokenizerError};

/// Error of a stop string that cannot be used: it is empty, and would end every response at once, or no text can match it.
#[derive(Debug, Error)]
#[error("stop string {0}")]
pub struct StopStringError(String);

/// Stop strings, and the tokenizer that decodes a response to search for them.
///
/// The text of a response is that of all its tokens together, without special tokens. A stop string matches as soon as
/// its last byte is there, even if tokens begin or end within it or within one of its characters. No tokens are drawn
/// after that. The token that completes the match stays part of the response: the policy chose it, so it has a
/// log-probability and a gradient. Only the text is truncated, before the first stop string.
#[derive(Debug, Clone)]
pub struct StopStrings {
    tokenizer: TextTokenizer,
    texts: Vec<String>,
    special: BTreeSet<u32>,
    /// Length of the longest stop string, in bytes.
    longest_bytes: usize,
}

impl StopStrings {
    /// Splits `texts` into token ids and stop strings; `None` if there are no stop strings.
    ///
    /// A text that is one special token of the vocabulary, such as `<|im_end|>`, becomes a token id.
    ///
    /// # Errors
    ///
    /// [`StopStringError`]
    pub fn split(
        tokenizer: &TextTokenizer,
        texts: &[String],
    ) -> Result<(Vec<u32>, Option<Self>), StopStringError> {
        let special = tokenizer.special_ids();
        let (mut ids, mut strings) = (Vec::new(), Vec::new());
        for (index, text) in texts.iter().enumerate() {
            if text.is_empty() {
                let problem = format!("{index} is empty, expected at least one character");
                return Err(StopStringError(problem));
            }
            if text.contains(char::REPLACEMENT_CHARACTER) {
                let problem = "holds U+FFFD, which stands for bytes that are no character";
                return Err(StopStringError(format!("{text:?} {problem}")));
            }
            match tokenizer.token_id(text).filter(|id| special.contains(id)) {
                Some(id) => ids.push(id),
                None => strings.push(text.clone()),
            }
        }
        let longest_bytes = strings.iter().map(String::len).max().unwrap_or(0);
        let strings = (!strings.is_empty()).then(|| Self {
            tokenizer: tokenizer.clone(),
            texts: strings,
            special,
            longest_bytes,
        });
        Ok((ids, strings))
    }

    /// Returns true if the last token of `token_ids` completes a stop string; the tokens before it must hold none.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Refused`] if the tokens cannot be decoded.
    pub fn completed_by_last(&self, token_ids: &[u32]) -> Result<bool, TokenizerError> {
        // Decoding the end of the response is almost always enough to see that no stop string is there. The end must be
        // long enough for the longest stop string, for what a tokenizer strips in front, and for a character that was
        // split.
        let mut wanted = self.longest_bytes + 8;
        loop {
            let (ids, is_whole) = self.end(token_ids, wanted);
            let text = self.tokenizer.decode(&ids)?;
            if self.find(&text).is_some() {
                // The end may decode otherwise alone than within the whole response.
                return Ok(self.find(&self.tokenizer.decode(token_ids)?).is_some());
            }
            // Some tokens have no text.
            if is_whole || text.len() >= wanted {
                return Ok(false);
            }
            wanted *= 2;
        }
    }

    /// Returns `text` up to the first stop string, all of it if there is none.
    pub fn cut<'a>(&self, text: &'a str) -> &'a str {
        self.find(text).map_or(text, |place| &text[..place])
    }

    /// Number of bytes at the end of `text` that begin a stop string, and may complete one later.
    pub fn begun_at_end(&self, text: &str) -> usize {
        let begins = |stop: &String| {
            let ends = (1..stop.len()).rev().filter(|end| stop.is_char_boundary(*end));
            ends.into_iter().find(|end| text.ends_with(&stop[..*end]))
        };
        self.texts.iter().filter_map(begins).max().unwrap_or(0)
    }

    fn find(&self, text: &str) -> Option<usize> {
        self.texts.iter().filter_map(|stop| text.find(stop.as_str())).min()
    }

    /// Returns the last `count` tokens that have a text, and true if there are no others.
    fn end(&self, token_ids: &[u32], count: usize) -> (Vec<u32>, bool) {
        let mut with_text = token_ids.iter().rev().filter(|id| !self.special.contains(id));
        let mut ids: Vec<u32> = with_text.by_ref().take(count).copied().collect();
        ids.reverse();
        (ids, with_text.next().is_none())
    }
}
