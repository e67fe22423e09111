//! `generate`: responses to one prompt or to a file of them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use decoder::generation::{Generated, GenerationOptions, PromptRequest, SamplingKey, generate};
use model_files::chat_template::{ChatTemplate, Message};
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use serde::{Deserialize, Serialize};

use super::json_lines;
use super::model_options::{BandOptions, LoadedModel, MaskOptions, ModelOptions, count_up_to};

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("generate.txt").trim_ascii_end())]
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
    if let (true, Some(path)) = (texts.is_empty(), &args.source.input) {
        eprintln!("warning: {}: no questions, so there is nothing to answer", path.display());
        return Ok(());
    }
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
    let prompts = (0..).zip(&token_ids).map(|(prompt, token_ids)| PromptRequest {
        token_ids,
        key: SamplingKey { seed: args.seed, step: 0, prompt },
    });
    let prompts: Vec<PromptRequest<'_>> = prompts.collect();
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

/// Widest bar, in characters; it stands for [`FULL_NATS`] or more.
const BAR: u8 = 20;

/// Entropy of the widest bar, in nats.
const FULL_NATS: f64 = 4.0;

#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    pub(super) prompt: usize,
    pub(super) sample: usize,
    pub(super) text: &'a str,
    pub(super) token_ids: &'a [u32],
    /// Log-probability of each token in nats, over the tokens that it was drawn from.
    pub(super) log_prob: &'a [f64],
    /// Distribution that the log-probabilities are of.
    log_prob_of: &'a str,
    pub(super) finish: &'static str,
    #[serde(flatten)]
    pub(super) entropy: Option<EntropyColumns>,
}

impl Answer<'_> {
    /// Writes a line that names the response, then its text, or a table of its tokens.
    fn write_for_people(
        &self,
        tokenizer: &TextTokenizer,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let Self { prompt, sample, finish, .. } = self;
        let tokens = self.token_ids.len();
        writeln!(out, "prompt {prompt}, sample {sample}: {tokens} tokens, {finish}")?;
        let Some(EntropyColumns { entropy, surprise, temperature, .. }) = &self.entropy else {
            writeln!(out, "{}", self.text)?;
            return Ok(());
        };
        writeln!(out, "log-probabilities of {}; entropy and surprise in nats", self.log_prob_of)?;
        writeln!(out, "{:>7} {:>8} {:>6}  {:<20} token", "entropy", "surprise", "T", "entropy")?;
        for (index, id) in self.token_ids.iter().enumerate() {
            let text = tokenizer.decode_raw(&[*id])?;
            let (entropy, surprise, temperature) =
                (entropy[index], surprise[index], temperature[index]);
            let bar = bar(entropy);
            writeln!(out, "{entropy:7.3} {surprise:8.3} {temperature:6.2}  {bar:<20} {text:?}")?;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        writeln!(out, "{:7.3} {:8.3} mean over {tokens} tokens\n", mean(entropy), mean(surprise))?;
        Ok(())
    }
}

/// Entropies and related values, one per token.
#[derive(Debug, Serialize)]
pub(super) struct EntropyColumns {
    /// Entropy of the distribution that the token was drawn from, in nats.
    pub(super) entropy: Vec<f64>,
    /// Entropy over the full vocabulary at temperature 1, in nats.
    pub(super) entropy_at_temperature_1: Vec<f64>,
    /// `-log_prob`, in nats.
    pub(super) surprise: Vec<f64>,
    /// Temperature that divided the logits.
    pub(super) temperature: Vec<f64>,
}

impl EntropyColumns {
    /// Returns the columns of a response whose entropies were measured, else `None`.
    pub(super) fn of(response: &Generated) -> Option<Self> {
        let Generated { entropy, log_prob, .. } = response;
        (!entropy.is_empty()).then(|| Self {
            entropy: entropy.iter().map(|token| token.drawn_from).collect(),
            entropy_at_temperature_1: entropy.iter().map(|token| token.at_temperature_1).collect(),
            surprise: log_prob.iter().map(|log_prob| -log_prob).collect(),
            temperature: entropy.iter().map(|token| token.temperature).collect(),
        })
    }
}

fn bar(entropy: f64) -> String {
    let width = f64::from(BAR) * entropy / FULL_NATS;
    (0..BAR).take_while(|&place| f64::from(place) + 0.5 <= width).map(|_| '█').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_grows_with_the_entropy_up_to_its_width() {
        let widths = [0.0, 0.1, 1.0, 4.0, 9.0].map(|entropy| bar(entropy).chars().count());
        assert_eq!(widths, [0, 1, 5, 20, 20]);
    }
}
