//! `generate`: responses to one prompt or to a file of them.

mod answer;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use model_files::chat_template::{ChatTemplate, Message};
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use serde::Deserialize;

use self::answer::{Answer, EntropyColumns};
use super::json_lines;
use super::model_options::{LoadedModel, ModelOptions, count_up_to};
use super::sampling_options::{BandOptions, MaskOptions};
use decoder::generation::{Generated, GenerationOptions, PromptRequest, SamplingKey, generate};

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  # Answer one question
  llm-trainer generate --model models/SmolLM2-135M-Instruct --chat --prompt "What is 2+3?"
  # Show the entropy of every token
  llm-trainer generate --model models/SmolLM2-135M-Instruct --chat --prompt "What is 2+3?" --entropy --readable
  # Sample 8 responses to each prompt of a file, with the latest checkpoint of a run
  llm-trainer generate --model runs/NAME --input prompts.jsonl --samples 8"#)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    source: Source,
    /// Put each prompt into the model's chat template, as the user's turn
    #[arg(long)]
    chat: bool,
    /// Number of responses to each prompt
    #[arg(long, default_value_t = 1, value_parser = count_up_to::<65_536>)]
    samples: usize,
    /// Maximum length of a response, in tokens
    #[arg(long, default_value_t = 256, value_parser = count_up_to::<16_777_216>)]
    max_new_tokens: usize,
    #[arg(long, default_value_t = Sampling::DEFAULT.temperature, help = Sampling::meaning("temperature"))]
    temperature: f64,
    #[command(flatten)]
    mask: MaskOptions,
    /// End a response before this text; may be repeated
    #[arg(long = "stop", value_name = "TEXT")]
    stops: Vec<String>,
    /// Seed of the sampling
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of sequences that decode together; it changes speed and memory, not the tokens
    #[arg(long, default_value_t = 64, value_parser = count_up_to::<65_536>)]
    rows: usize,
    /// Decode with libtorch's matrix products on the CPU; they are slower with few rows
    #[arg(long)]
    no_cpu_kernels: bool,
    /// Print entropy and surprise of each token, in nats, and the temperature of its draw
    #[arg(long)]
    entropy: bool,
    #[command(flatten)]
    band: BandOptions,
    /// Print text for people instead of JSON lines: one token per line with --entropy, else the responses
    #[arg(long)]
    readable: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// Text of the prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// JSON lines with "prompt"; - reads standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    prompt: String,
}

impl Source {
    /// The prompts, as they were given.
    fn texts(&self) -> anyhow::Result<Vec<String>> {
        let mut texts: Vec<String> = self.prompt.iter().cloned().collect();
        if let Some(path) = &self.input {
            json_lines::for_each(path, |request: Request| {
                texts.push(request.prompt);
                Ok(())
            })?;
        }
        Ok(texts)
    }
}

/// Writes one JSON object a line and response, or the same for people.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let mut texts = args.source.texts()?;
    let LoadedModel { directory, decoder, tokenizer } = args.model.load()?;
    if args.chat {
        let template = ChatTemplate::load(&directory)?.with_context(|| {
            format!("{}: no chat template, expected one for --chat", directory.display())
        })?;
        for text in &mut texts {
            *text = template.render(&[Message::new("user", text.as_str())], true)?;
        }
    }
    let token_ids: Vec<Vec<u32>> =
        texts.iter().map(|text| tokenizer.encode(text)).collect::<Result<_, _>>()?;
    let prompts: Vec<PromptRequest<'_>> = (0..)
        .zip(&token_ids)
        .map(|(prompt, token_ids)| PromptRequest {
            token_ids,
            key: SamplingKey { seed: args.seed, step: 0, prompt },
        })
        .collect();
    let (special, stop_strings) = StopStrings::split(&tokenizer, &args.stops)?;
    let mut stop_ids = tokenizer.eos_ids(&directory)?;
    stop_ids.extend(special);
    let options = GenerationOptions {
        samples: args.samples,
        max_new_tokens: args.max_new_tokens,
        sampling: args.mask.at_temperature(args.temperature),
        stop_ids,
        stop_strings: stop_strings.map(Arc::new),
        rows: args.rows,
        cpu_kernels: !args.no_cpu_kernels,
        cuda_kernels: true,
        band: args.band.band()?,
        measure_entropy: args.entropy,
        record_routes: false,
    };
    let generated = generate(&decoder, &prompts, &options)?;
    write(args, &options, &generated, &tokenizer, out)
}

/// Writes the responses, prompt after prompt.
fn write(
    args: &Args,
    options: &GenerationOptions,
    generated: &[Generated],
    tokenizer: &TextTokenizer,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let log_prob_of = options.distribution();
    for (index, response) in generated.iter().enumerate() {
        let Generated { token_ids, log_prob, finish, .. } = response;
        let text = tokenizer.decode(token_ids)?;
        let cut = options.stop_strings.as_ref().map_or(text.as_str(), |stops| stops.cut(&text));
        let answer = Answer {
            prompt: index / args.samples,
            sample: index % args.samples,
            text: cut,
            token_ids,
            log_prob,
            log_prob_of: &log_prob_of,
            finish: finish.name(),
            entropy: EntropyColumns::of(response),
        };
        if args.readable {
            answer.write_for_people(tokenizer, out)?;
        } else {
            writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        }
    }
    Ok(())
}
