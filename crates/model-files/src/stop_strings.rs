//! Texts that end a response, wherever the tokens cut them.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::text_tokenizer::{TextTokenizer, TokenizerError};

/// Why texts cannot end a response.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StopStringError {
    /// Every response would end at once.
    #[error("stop string {index} is empty, expected at least one character")]
    Empty {
        /// Its place in the list, from 0.
        index: usize,
    },
    /// U+FFFD stands for bytes that are no character; no text can be meant by it.
    #[error("stop string {text:?} holds U+FFFD, which stands for bytes that are no character")]
    Replacement {
        /// The text.
        text: String,
    },
}

/// Texts that end a response, and the tokenizer that says where they stand in its tokens.
///
/// The text of a response is that of all its tokens together, special ones left out. A stop string is found as soon as the
/// last of its bytes is there, whether tokens begin or end within it or within one of its characters; tokens after that one
/// are never drawn. The token that completes it stays part of the response: the policy chose it, so it has a log-probability
/// and a gradient as any other. Only the text is cut, before the first stop string.
#[derive(Debug, Clone)]
pub struct StopStrings {
    tokenizer: TextTokenizer,
    texts: Vec<String>,
    special: BTreeSet<u32>,
    /// Length of the longest text in bytes.
    longest_bytes: usize,
}

impl StopStrings {
    /// Splits `texts` into token ids, of those that are one special token of the vocabulary such as `<|im_end|>`, and stop
    /// strings; `None` where there are none of the latter.
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
                return Err(StopStringError::Empty { index });
            }
            if text.contains(char::REPLACEMENT_CHARACTER) {
                return Err(StopStringError::Replacement { text: text.clone() });
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

    /// Whether the response `token_ids`, which had no stop string before its last token, has one now.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Decode`] where the tokens have no text.
    pub fn completed_by_last(&self, token_ids: &[u32]) -> Result<bool, TokenizerError> {
        // Almost always the end says that there is none. It is taken long enough for the longest string, for what a
        // tokenizer strips in front, and for a character whose beginning was cut off.
        let mut wanted = self.longest_bytes + 8;
        loop {
            let end = self.end(token_ids, wanted);
            let text = self.tokenizer.decode(&end.ids)?;
            if self.find(&text).is_some() {
                // An end read without its beginning may look otherwise than within the whole.
                return Ok(self.find(&self.tokenizer.decode(token_ids)?).is_some());
            }
            // Tokens may have no text at all.
            if end.is_whole || text.len() >= wanted {
                return Ok(false);
            }
            wanted *= 2;
        }
    }

    /// `text` up to the first stop string, all of it where there is none.
    pub fn cut<'a>(&self, text: &'a str) -> &'a str {
        self.find(text).map_or(text, |place| &text[..place])
    }

    /// Bytes at the end of `text` that are the beginning of a stop string, and may become one.
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

    /// The last `count` tokens that have a text.
    fn end(&self, token_ids: &[u32], count: usize) -> End {
        let mut ids: Vec<u32> = Vec::with_capacity(count);
        let mut is_whole = true;
        for id in token_ids.iter().rev().filter(|id| !self.special.contains(id)) {
            if ids.len() == count {
                is_whole = false;
                break;
            }
            ids.push(*id);
        }
        ids.reverse();
        End { ids, is_whole }
    }
}

/// The end of a response.
struct End {
    ids: Vec<u32>,
    /// Whether the response has no other tokens with a text.
    is_whole: bool,
}
