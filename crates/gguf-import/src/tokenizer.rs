//! `tokenizer.json` and `tokenizer_config.json` from the vocabulary in the file.
//!
//! A GGUF file names its pre-tokenizer (`tokenizer.ggml.pre`) and holds vocabulary, merges and
//! token types; the pattern, the normaliser and the flags of the added tokens are known per name.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use model_files::model_config::ModelShape;

use super::error::GgufError;
use super::hyperparameters::is_qwen;
use super::metadata::Metadata;

/// The pattern of Qwen2's `tokenizer.json`.
const QWEN2_PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Added tokens of Qwen2.5 that its `tokenizer.json` does not call special, though the GGUF does.
const QWEN2_NOT_SPECIAL: [&str; 8] = [
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreTokenizer {
    Qwen2,
    SmolLm,
}

#[derive(Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the file format")]
struct AddedToken<'a> {
    id: usize,
    content: &'a str,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

/// The vocabulary as a JSON object in the order of ids.
#[derive(Default)]
struct Vocabulary<'a>(Vec<(&'a str, usize)>);

impl Serialize for Vocabulary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// The `model` part of `tokenizer.json`; what is neither vocabulary nor merges is off.
#[derive(Default, Serialize)]
struct Bpe<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    dropout: Option<f32>,
    unk_token: Option<&'static str>,
    continuing_subword_prefix: &'static str,
    end_of_word_suffix: &'static str,
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
    vocab: Vocabulary<'a>,
    merges: &'a [String],
}

#[derive(Default, Serialize)]
struct TokenizerJson<'a> {
    version: &'static str,
    truncation: Option<Value>,
    padding: Option<Value>,
    added_tokens: Vec<AddedToken<'a>>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
    model: Bpe<'a>,
}

/// Builds both files of a byte-level BPE of the Qwen2 or SmolLM kind; the chat template is in the second.
pub(super) fn build(metadata: &Metadata, model: &ModelShape) -> Result<(String, Value), GgufError> {
    let kind = metadata.text("tokenizer.ggml.model")?;
    if kind != "gpt2" {
        let problem = format!("is \"{kind}\", expected \"gpt2\" (byte-level BPE)");
        return Err(metadata.error("tokenizer.ggml.model", problem));
    }
    let pre = match metadata.text("tokenizer.ggml.pre")? {
        "qwen2" => PreTokenizer::Qwen2,
        "smollm" | "starcoder" | "refact" | "command-r" => PreTokenizer::SmolLm,
        other => {
            let problem = format!("is \"{other}\", expected \"qwen2\" or \"smollm\"");
            return Err(metadata.error("tokenizer.ggml.pre", problem));
        }
    };
    let tokens = metadata.texts(TOKENS)?;
    if tokens.len() > model.vocab_size {
        let problem = format!("has {} tokens, expected at most {}", tokens.len(), model.vocab_size);
        return Err(metadata.error(TOKENS, problem));
    }
    let (added, vocabulary) = sort_tokens(metadata, pre, tokens)?;
    let merges = metadata.texts(MERGES)?;
    check_merges(metadata, &vocabulary, merges)?;
    let tokenizer_config = config(metadata, model, tokens, &added)?;
    let tokenizer = TokenizerJson { added_tokens: added, ..skeleton(pre, vocabulary, merges) };
    let tokenizer = serde_json::to_string(&tokenizer)
        .map_err(|error| metadata.error(TOKENS, format!("cannot become JSON: {error}")))?;
    Ok((tokenizer, tokenizer_config))
}

/// Splits the tokens by type: added ones, and those that merges can make.
fn sort_tokens<'a>(
    metadata: &Metadata,
    pre: PreTokenizer,
    tokens: &'a [String],
) -> Result<(Vec<AddedToken<'a>>, Vocabulary<'a>), GgufError> {
    let types = metadata.integers(TYPES)?;
    if types.len() != tokens.len() {
        let problem =
            format!("has {} types, expected one for each of {} tokens", types.len(), tokens.len());
        return Err(metadata.error(TYPES, problem));
    }
    let (mut added, mut vocabulary) = (Vec::new(), Vec::new());
    for (id, (token, kind)) in tokens.iter().zip(types).enumerate() {
        match kind {
            1 | 2 | 6 => vocabulary.push((token.as_str(), id)),
            3 | 4 => {
                let demoted =
                    pre == PreTokenizer::Qwen2 && QWEN2_NOT_SPECIAL.contains(&token.as_str());
                let special = *kind == 3 && !demoted;
                added.push(AddedToken { id, content: token, special, ..Default::default() });
                // SmolLM2's file lists its special tokens in the vocabulary as well.
                if pre == PreTokenizer::SmolLm {
                    vocabulary.push((token, id));
                }
            }
            5 => {} // rows that only pad the embedding
            other => {
                return Err(
                    metadata.error(TYPES, format!("token {id} has type {other}, expected 1 to 6"))
                );
            }
        }
    }
    Ok((added, Vocabulary(vocabulary)))
}

/// Each merge joins two tokens of the vocabulary into a third.
fn check_merges(
    metadata: &Metadata,
    vocabulary: &Vocabulary<'_>,
    merges: &[String],
) -> Result<(), GgufError> {
    let mut ids = HashMap::with_capacity(vocabulary.0.len());
    for (token, id) in &vocabulary.0 {
        if let Some(first) = ids.insert(*token, *id) {
            let problem =
                format!("tokens {first} and {id} are both {token:?}, expected distinct ones");
            return Err(metadata.error(TOKENS, problem));
        }
    }
    for (rank, merge) in merges.iter().enumerate() {
        let known = merge.split_once(' ').is_some_and(|(left, right)| {
            let joined = format!("{left}{right}");
            [left, right, &joined].iter().all(|token| ids.contains_key(token))
        });
        if !known {
            let problem =
                format!("merge {rank} is {merge:?}, expected two tokens that join into a third");
            return Err(metadata.error(MERGES, problem));
        }
    }
    Ok(())
}

fn byte_level(add_prefix_space: bool, trim_offsets: bool, use_regex: bool) -> Value {
    json!({
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": trim_offsets,
        "use_regex": use_regex,
    })
}

fn skeleton<'a>(
    pre: PreTokenizer,
    vocab: Vocabulary<'a>,
    merges: &'a [String],
) -> TokenizerJson<'a> {
    let (normalizer, split, post_processor, decoder) = match pre {
        PreTokenizer::Qwen2 => (
            json!({"type": "NFC"}),
            json!([
                {
                    "type": "Split",
                    "pattern": {"Regex": QWEN2_PATTERN},
                    "behavior": "Isolated",
                    "invert": false,
                },
                byte_level(false, false, false),
            ]),
            byte_level(false, false, false),
            byte_level(false, false, false),
        ),
        PreTokenizer::SmolLm => (
            Value::Null,
            json!([
                {"type": "Digits", "individual_digits": true},
                byte_level(false, true, true),
            ]),
            Value::Null,
            byte_level(true, true, true),
        ),
    };
    TokenizerJson {
        version: "1.0",
        normalizer,
        pre_tokenizer: json!({"type": "Sequence", "pretokenizers": split}),
        post_processor,
        decoder,
        model: Bpe { kind: "BPE", vocab, merges, ..Default::default() },
        ..Default::default()
    }
}

fn config(
    metadata: &Metadata,
    model: &ModelShape,
    tokens: &[String],
    added: &[AddedToken<'_>],
) -> Result<Value, GgufError> {
    let spelled = |name: &str| -> Result<Option<&String>, GgufError> {
        let key = format!("tokenizer.ggml.{name}_token_id");
        let Some(id) = metadata.optional_count(&key)? else { return Ok(None) };
        let token = tokens.get(id as usize).ok_or_else(|| {
            metadata.error(&key, format!("is {id}, expected an id below {}", tokens.len()))
        })?;
        Ok(Some(token))
    };
    let (bos, unknown, class) = if is_qwen(model.architecture) {
        (None, None, "Qwen2Tokenizer")
    } else {
        (spelled("bos")?, spelled("unknown")?, "GPT2Tokenizer")
    };
    let decoder = added.iter().map(|token| {
        let mut flags = json!(token);
        flags.as_object_mut().and_then(|flags| flags.remove("id"));
        (token.id.to_string(), flags)
    });
    Ok(json!({
        "add_bos_token": metadata.optional_bool("tokenizer.ggml.add_bos_token")?.unwrap_or(false),
        "add_prefix_space": false,
        "added_tokens_decoder": decoder.collect::<serde_json::Map<_, _>>(),
        "bos_token": bos,
        "eos_token": spelled("eos")?,
        "pad_token": spelled("padding")?,
        "unk_token": unknown,
        "clean_up_tokenization_spaces": false,
        "chat_template": metadata.optional_text("tokenizer.chat_template")?,
        "model_max_length": model.max_position_embeddings,
        "tokenizer_class": class,
    }))
}
