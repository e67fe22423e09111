//! Times of a language model on the CPU, random weights, one JSON object a line:
//! `cargo run --release -p llm-trainer --example lm_bench -- 0.5b:f32:train tiny:bf16:gen1 …`.
//!
//! `0.5b` has the shape of Qwen2.5-0.5B, `tiny` 8 blocks of width 256. `fwd` is log-probability and entropy of every token of
//! one sequence of 512 (eight for `tiny`), `train` adds the gradient and an optimiser step, `genN` decodes N sequences
//! behind prompts of 64 tokens. Each measurement runs in a process of its own, whose peak memory it reports.

use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use llm_trainer::generation::{GenerationOptions, PromptRequest, SamplingKey, generate};
use llm_trainer::model::Decoder;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{Cotangent, PolicyPass, Sequence};
use tch::{Device, Kind};
use trainer_core::config::OptimizerSection;
use trainer_core::model_config::{Architecture, ModelConfig, ModelShape};

const THREADS: i32 = 2;
const TOKENS: usize = 512;
const PROMPT: usize = 64;
/// As long as the peers are measured for.
const LONG_ENOUGH: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let _kept = torch_ext::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [flag, measurement] if flag == "--here" => measure(measurement),
        measurements => measurements.iter().try_for_each(|own| in_own_process(own)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn in_own_process(measurement: &str) -> Result<()> {
    let own = std::env::current_exe().context("where this program is")?;
    let status = Command::new(own).args(["--here", measurement]).status()?;
    ensure!(status.success(), "{measurement}: {status}");
    Ok(())
}

fn measure(measurement: &str) -> Result<()> {
    let parts: Vec<&str> = measurement.split(':').collect();
    let [model, dtype, what] = parts.as_slice() else {
        bail!("`{measurement}` is no MODEL:DTYPE:WHAT such as 0.5b:f32:train");
    };
    let (shape, sequences, new_tokens) = match *model {
        "0.5b" => (shape(896, 4864, 24, 14, 151_936), 1, 64),
        "tiny" => (shape(256, 688, 8, 8, 8192), 8, 128),
        other => bail!("model `{other}` is neither 0.5b nor tiny"),
    };
    let kind = match *dtype {
        "f32" => Kind::Float,
        "bf16" => Kind::BFloat16,
        other => bail!("dtype `{other}` is neither f32 nor bf16"),
    };
    tch::set_num_threads(THREADS);
    let decoder = Decoder::initialise(ModelConfig::new(shape)?, 0, Device::Cpu, kind);
    let line = match what.strip_prefix("gen") {
        Some(count) => decode(&decoder, count.parse().context("N of genN")?, new_tokens)?,
        None => pass(&decoder, what, sequences)?,
    };
    writeln!(
        std::io::stdout(),
        "{{\"model\":\"{model}\",\"dtype\":\"{dtype}\",\"what\":\"{what}\",{line},\"peak_rss_mb\":{}}}",
        peak_resident_mib()?
    )?;
    Ok(())
}

fn shape(
    hidden: usize,
    intermediate: usize,
    blocks: usize,
    heads: usize,
    vocab: usize,
) -> ModelShape {
    ModelShape {
        architecture: Architecture::Qwen2,
        hidden_size: hidden,
        intermediate_size: intermediate,
        num_hidden_layers: blocks,
        num_attention_heads: heads,
        num_key_value_heads: 2,
        head_dim: hidden / heads,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        rope_scaling: None,
        vocab_size: vocab,
        max_position_embeddings: 4096,
        tie_word_embeddings: true,
        query_key_value_bias: true,
        attention_output_bias: false,
        initializer_range: 0.02,
        bos_token_id: None,
        eos_token_ids: Vec::new(),
        pad_token_id: None,
    }
}

/// Any tokens, the same every time.
fn tokens(vocab: usize, count: usize, seed: usize) -> Vec<u32> {
    let token = |place: usize| (place * 7919 + seed * 104_729 + 17) % vocab;
    (0..count).filter_map(|place| u32::try_from(token(place)).ok()).collect()
}

/// A forward pass over whole sequences, and for `train` all of a step.
fn pass(decoder: &Decoder, what: &str, sequences: usize) -> Result<String> {
    let vocab = decoder.config().vocab_size;
    let sequences: Vec<Sequence> = (0..sequences)
        .map(|index| Sequence::new(tokens(vocab, 1, index), tokens(vocab, TOKENS - 1, index + 9)))
        .collect();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let pass = PolicyPass {
        model: decoder,
        temperature: 1.0,
        micro_batch_tokens: TOKENS,
        activation_bytes: 4 << 30,
    };
    let count = sequences.len() * TOKENS;
    let milliseconds = match what {
        "fwd" => median(|| {
            let _statistics = pass.statistics(&sequences);
            Ok(())
        })?,
        "train" => {
            decoder.set_trainable(true);
            let options = OptimizerSection { learning_rate: 1e-5, ..Default::default() };
            let mut optimizer = AdamW::new(decoder, &options, 0);
            let predicted = sequences.len() * (TOKENS - 1);
            let cotangent =
                Cotangent { log_prob: vec![-1.0 / predicted as f64; predicted], entropy: None };
            median(|| {
                let _log_prob = pass.accumulate_gradient(&sequences, &cotangent)?;
                let _outcome = optimizer.step(1e-5)?;
                Ok(())
            })?
        }
        other => bail!("`{other}` is none of fwd, train, gen1, gen8, gen32"),
    };
    let rate = count as f64 * 1e3 / milliseconds;
    Ok(format!("\"ms\":{milliseconds:.1},\"tok_s\":{rate:.1}"))
}

/// Greedy decoding; a step is the time of all tokens less that of the prompt and one, over those between.
fn decode(decoder: &Decoder, rows: usize, new_tokens: usize) -> Result<String> {
    let prompts: Vec<Vec<u32>> =
        (0..rows).map(|row| tokens(decoder.config().vocab_size, PROMPT, row)).collect();
    let requests: Vec<PromptRequest<'_>> = (0..)
        .zip(&prompts)
        .map(|(prompt, token_ids)| PromptRequest {
            token_ids,
            key: SamplingKey { seed: 0, step: 0, prompt },
        })
        .collect();
    let time = |max_new_tokens: usize| {
        let options =
            GenerationOptions { max_new_tokens, temperature: 0.0, rows, ..Default::default() };
        median(|| {
            let _responses = generate(decoder, &requests, &options)?;
            Ok(())
        })
    };
    let (first, all) = (time(1)?, time(new_tokens)?);
    let step = (all - first) / (new_tokens - 1) as f64;
    Ok(format!(
        "\"prefill_ms\":{first:.1},\"decode_ms_per_step\":{step:.2},\"decode_tok_s\":{:.1}",
        rows as f64 * 1e3 / step
    ))
}

/// Median time in milliseconds, after one call that warms up.
fn median(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 3 || start.elapsed() < LONG_ENOUGH {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn peak_resident_mib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().next())
        .context("VmHWM in /proc/self/status")?
        .parse()?;
    Ok(kib / 1024)
}
