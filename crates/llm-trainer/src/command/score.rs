//! `score`: log-probability and entropy of every token of given texts.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use model_files::sampling::Sampling;
use model_files::text_tokenizer::TextTokenizer;
use serde::{Deserialize, Serialize};

use super::json_lines;
use super::model_options::{LoadedModel, ModelOptions};
use decoder::model::Decoder;
use decoder::scoring::{Scores, score as score_tokens};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("score.txt").trim_ascii_end())]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelOptions,
    /// JSON lines with `text` or `token_ids`; - reads standard input
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Temperature, the divisor of the logits
    #[arg(long, default_value_t = 1.0)]
    temperature: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Request {
    Text(String),
    TokenIds(Vec<u32>),
}

/// Entry `t` of the two columns is about token `t + 1`, given tokens `0..=t`: the first token has none.
#[derive(Debug, Serialize)]
struct Answer {
    token_ids: Vec<u32>,
    /// Nats.
    log_prob: Vec<f64>,
    /// Nats, over the whole vocabulary.
    entropy: Vec<f64>,
}

/// Writes one JSON object a line: `token_ids`, and `log_prob` and `entropy` of all tokens but the first.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    if !(Sampling::is_temperature(args.temperature) && args.temperature > 0.0) {
        bail!("--temperature is {}, expected at least 0.000001", args.temperature);
    }
    let LoadedModel { decoder, tokenizer, .. } = args.model.load()?;
    json_lines::for_each(&args.input, |request| {
        let answer = score(&decoder, &tokenizer, request, args.temperature)?;
        Ok(writeln!(out, "{}", serde_json::to_string(&answer)?)?)
    })
}

fn score(
    decoder: &Decoder,
    tokenizer: &TextTokenizer,
    request: Request,
    temperature: f64,
) -> anyhow::Result<Answer> {
    let token_ids = match request {
        Request::Text(text) => tokenizer.encode(&text)?,
        Request::TokenIds(token_ids) => token_ids,
    };
    let vocab_size = decoder.config().vocab_size;
    if let Some(token_id) = token_ids.iter().find(|id| **id as usize >= vocab_size) {
        bail!("token id {token_id}, expected ids below vocab_size = {vocab_size}");
    }
    let limit = decoder.config().max_position_embeddings;
    if token_ids.len() > limit {
        bail!("{} tokens, expected at most max_position_embeddings = {limit}", token_ids.len());
    }
    let Scores { log_prob, entropy } = score_tokens(decoder, &token_ids, temperature);
    Ok(Answer { token_ids, log_prob, entropy })
}
