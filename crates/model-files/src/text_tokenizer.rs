//! Conversion of text to token ids and back, by the model's own `tokenizer.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokenizers::Tokenizer;
use whole_file::{FileError, LONGEST_TEXT_BYTES, read_at_most};

use crate::library_panic::caught;
use crate::tokenizer_bounds::{
    Growth, LONGEST_DECODED_BYTES, LONGEST_NORMALISED_BYTES, LONGEST_TOKEN_BYTES,
};

/// Longest `tokenizer.json` accepted: several times that of the largest vocabularies.
const LONGEST_TOKENIZER_BYTES: u64 = 128 << 20;

/// Why a tokenizer cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file is absent or cannot be read.
    #[error(transparent)]
    Read(FileError),
    /// The file is no valid tokenizer.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A text could not be tokenized, or token ids not be decoded.
    #[error("cannot {0}")]
    Refused(String),
}

impl TokenizerError {
    /// Wraps the system's error of a file that cannot be read.
    pub(crate) fn of(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let read = FileError::of(path, "read");
        move |error| Self::Read(read(error))
    }
}

/// A loaded `tokenizer.json`.
#[derive(Debug, Clone)]
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    growth: Growth,
    longest_token_bytes: usize,
    path: PathBuf,
}

impl TextTokenizer {
    /// Reads `tokenizer.json` in the model directory `dir`.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Read`] or [`TokenizerError::Malformed`], naming the file.
    pub fn load(dir: &Path) -> Result<Self, TokenizerError> {
        let path = dir.join("tokenizer.json");
        let bytes = read_at_most(&path, LONGEST_TOKENIZER_BYTES);
        let bytes = bytes.map_err(TokenizerError::of(&path))?;
        let malformed = |problem: String| TokenizerError::Malformed { path: path.clone(), problem };
        let (mut tokenizer, growth) = parse(&bytes).map_err(malformed)?;
        // A file may hold the padding and truncation of the run that saved it; here every token counts.
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| malformed(format!("cannot switch truncation off: {error}")))?;
        let tokens = tokenizer.get_vocab(true).into_keys().map(|token| token.len());
        let longest_token_bytes = tokens.max().unwrap_or(0);
        if longest_token_bytes > LONGEST_TOKEN_BYTES {
            return Err(malformed(format!(
                "a token has {longest_token_bytes} bytes, expected at most {LONGEST_TOKEN_BYTES}"
            )));
        }
        Ok(Self { tokenizer, growth, longest_token_bytes, path })
    }

    /// Returns the token ids of `text`; no special token is added, special-token text is recognised.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Refused`] if the tokenizer has no token for a part of the text, or if its normaliser and
    /// pre-tokenizer could make it too long.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let refused = |problem: String| {
            let beginning: String = text.chars().take(40).collect();
            TokenizerError::Refused(format!("tokenize {beginning:?}: {problem}"))
        };
        let (bytes, growth) = (text.len(), self.growth.encoded);
        if bytes.saturating_mul(growth) > LONGEST_NORMALISED_BYTES {
            return Err(refused(format!(
                "{bytes} bytes, which normaliser and pre-tokenizer may make {growth} times as long, expected at most \
                 {LONGEST_NORMALISED_BYTES} then"
            )));
        }
        let encoding = called(|| self.tokenizer.encode_fast(text, false)).map_err(refused)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Returns the text of `ids` without special tokens.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Refused`] if the decoder fails.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.decode_with(ids, true)
    }

    /// Returns the text of `ids` with special tokens spelled out.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Refused`] if the decoder fails.
    pub fn decode_raw(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.decode_with(ids, false)
    }

    /// Splits the text of `ids` into one piece per token, special tokens spelled out.
    ///
    /// A character of several tokens belongs to the last of them. Bytes that form no character become `\u{fffd}` with
    /// the last token.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Refused`] if the decoder fails.
    pub fn pieces(&self, ids: &[u32]) -> Result<Vec<String>, TokenizerError> {
        let mut pieces = vec![String::new(); ids.len()];
        // Decoded in windows from the last complete character on, with that character's tokens as context: some
        // decoders treat the first token of a text differently.
        let (mut context, mut start) = (0, 0);
        for end in 1..=ids.len() {
            let before = self.decode_raw(&ids[context..start])?;
            let text = self.decode_raw(&ids[context..end])?;
            let is_whole = !text.ends_with('\u{fffd}') || end == ids.len();
            if is_whole {
                let added = text.strip_prefix(&before).unwrap_or_default();
                added.clone_into(&mut pieces[end - 1]);
                (context, start) = (start, end);
            }
        }
        Ok(pieces)
    }

    fn decode_with(&self, ids: &[u32], skip_special: bool) -> Result<String, TokenizerError> {
        let refused =
            |problem: String| TokenizerError::Refused(format!("decode token ids: {problem}"));
        let growth = self.growth.decoded;
        let too_long = |bytes: usize| bytes.saturating_mul(growth) > LONGEST_DECODED_BYTES;
        // The sum is taken only where tokens of the longest kind would be too long.
        if too_long(ids.len().saturating_mul(self.longest_token_bytes)) {
            let token_bytes =
                |&id: &u32| self.tokenizer.id_to_token(id).map_or(0, |text| text.len());
            let bytes = ids.iter().map(token_bytes).sum();
            if too_long(bytes) {
                return Err(refused(format!(
                    "they have {bytes} bytes, which the decoder may make {growth} times as long, expected at most \
                     {LONGEST_DECODED_BYTES} then"
                )));
            }
        }
        called(|| self.tokenizer.decode(ids, skip_special)).map_err(refused)
    }

    /// All tokens, added ones included, with their ids.
    pub fn tokens(&self) -> BTreeMap<String, u32> {
        self.tokenizer.get_vocab(true).into_iter().collect()
    }

    /// The id of one token, spelled as in the vocabulary (`<|im_end|>`).
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Returns the ids of the special tokens, which [`decode`](Self::decode) leaves out.
    pub fn special_ids(&self) -> BTreeSet<u32> {
        let added = self.tokenizer.get_added_tokens_decoder();
        added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect()
    }

    /// Checks that every id this tokenizer can give has a row in the model's embedding.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Malformed`], naming the file and both numbers.
    pub fn check_vocabulary(&self, model_vocab_size: usize) -> Result<(), TokenizerError> {
        let largest = self.tokenizer.get_vocab(true).into_values().max().unwrap_or(0);
        if (largest as usize) < model_vocab_size {
            return Ok(());
        }
        let expected = format!("ids below vocab_size = {model_vocab_size}");
        let problem =
            format!("token id {largest} is outside the model's vocabulary, expected {expected}");
        Err(TokenizerError::Malformed { path: self.path.clone(), problem })
    }

    /// Returns the ids that end a response, ascending: all those of `generation_config.json`, else of `config.json`,
    /// else the `eos_token` of `tokenizer_config.json`.
    ///
    /// # Errors
    ///
    /// A file exists but is malformed, an id is beyond the model's vocabulary, or no file names an id.
    pub fn eos_ids(&self, dir: &Path) -> Result<Vec<u32>, TokenizerError> {
        for name in ["generation_config.json", "config.json"] {
            let path = dir.join(name);
            let Some(json) = read_json(&path)? else { continue };
            let malformed = |found: String, expected: &str| TokenizerError::Malformed {
                path: path.clone(),
                problem: format!("eos_token_id is {found}, expected {expected}"),
            };
            let ids = eos_token_id(&json)
                .map_err(|found| malformed(found, "a token id or a list of them"))?;
            let Some(&largest) = ids.last() else { continue };
            // A response would never end.
            if let Some(size) = vocab_size(dir)?.filter(|&size| u64::from(largest) >= size) {
                let expected = format!("ids below vocab_size = {size} of config.json");
                return Err(malformed(largest.to_string(), &expected));
            }
            return Ok(ids.into_iter().collect());
        }
        let path = dir.join("tokenizer_config.json");
        let json = read_json(&path)?.unwrap_or_default();
        match token_text(&json["eos_token"]).map(|token| (token, self.token_id(token))) {
            Some((_, Some(id))) => Ok(vec![id]),
            Some((token, None)) => Err(TokenizerError::Malformed {
                path,
                problem: format!("eos_token is {token:?}, expected a token of tokenizer.json"),
            }),
            None => Err(TokenizerError::Malformed {
                path: dir.to_path_buf(),
                problem:
                    "no end-of-sequence token, expected eos_token_id in generation_config.json or \
                          config.json, or eos_token in tokenizer_config.json"
                        .to_owned(),
            }),
        }
    }
}

/// Calls the library, which panics on some files.
fn called<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    let failed =
        || "the tokenizer's library has failed, expected another tokenizer.json".to_owned();
    caught(call).ok_or_else(failed)?.map_err(|error| error.to_string())
}

fn parse(bytes: &[u8]) -> Result<(Tokenizer, Growth), String> {
    let growth = Growth::of(bytes)?;
    let tokenizer = called(|| Tokenizer::from_bytes(bytes));
    Ok((tokenizer.map_err(|error| format!("not a tokenizer: {error}"))?, growth))
}

/// Reads a JSON file; `None` if it does not exist.
pub(crate) fn read_json(path: &Path) -> Result<Option<serde_json::Value>, TokenizerError> {
    let bytes = match read_at_most(path, LONGEST_TEXT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(TokenizerError::of(path)(error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| TokenizerError::Malformed {
        path: path.to_path_buf(),
        problem: format!("not JSON: {error}"),
    })
}

/// Returns the text of a special token, which is a string or an object with `content`.
pub(crate) fn token_text(value: &serde_json::Value) -> Option<&str> {
    value.as_str().or_else(|| value["content"].as_str())
}

/// Number of rows of the model's embedding by its `config.json`, if that says it.
fn vocab_size(dir: &Path) -> Result<Option<u64>, TokenizerError> {
    let json = read_json(&dir.join("config.json"))?;
    Ok(json.and_then(|json| json["vocab_size"].as_u64()))
}

fn eos_token_id(json: &serde_json::Value) -> Result<BTreeSet<u32>, String> {
    use serde_json::Value;
    let value = &json["eos_token_id"];
    let id = |value: &Value| {
        value.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(|| value.to_string())
    };
    match value {
        Value::Null => Ok(BTreeSet::new()),
        Value::Array(ids) => ids.iter().map(id).collect(),
        one => Ok(BTreeSet::from([id(one)?])),
    }
}
