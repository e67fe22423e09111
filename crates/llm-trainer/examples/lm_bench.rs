//! Times of a language model, random weights, one JSON object a line:
//! `cargo run --release -p llm-trainer --example lm_bench -- 0.5b:f32:train tiny:bf16:gen1 7b:bf16:gen64:512+256 …`.
//!
//! `0.5b` to `72b` have the shapes of Qwen2.5, `tiny` 8 blocks of width 256. `fwd` is log-probability and entropy of every token
//! of one sequence of 512 (eight for `tiny`), `train` adds the gradient and an optimiser step with master weights and moments in
//! f32 (moments in bf16 on a GPU), `train-split` and `train-none` one with moments in bf16 and such master weights
//! (`optimizer.master`), `genN` decodes N sequences behind prompts of 64 tokens, greedily, `sampleN` at temperature 1, `plainN`
//! greedily by libtorch's plain operators alone: without this project's CPU kernels, and on a GPU without the fused attention kernel
//! and this project's CUDA kernels of decoding. `launch` is the time of a kernel of one number, for the host and until all are done;
//! `save` writes the model as a Hugging Face directory to `LM_BENCH_SAVE`, with the tokenizer of `LM_BENCH_TOKENIZER`.
//! A fourth part changes the lengths: `:8x2048` is eight sequences of 2048 tokens, `:512+256` a prompt of 512 and 256 drawn tokens. A
//! fifth is how much memory holds what blocks computed for the backward pass (`training.activation_bytes`), 2 GiB if it is not given:
//! `:8x2048:48GB`, `:1x512:0B`. Each measurement runs in a process of its own, whose peak memory it reports; with
//! `LM_BENCH_DEVICE=cuda` the first GPU does, and then the memory is that of tensors on it.

use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use decoder::generation::{
    Generated, GenerationOptions, Listener, PromptRequest, SamplingKey, Tally, generate_each,
};
use decoder::model::Decoder;
use llm_trainer::host_memory::Memory;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{Cotangent, PolicyPass, Sequence};
use model_files::model_config::{Architecture, ModelConfig, ModelShape};
use ranks::Ranks;
use run_plan::plan::{parse_bytes, preset_model};
use tch::{Device, Kind};
use training_run::config::{Dtype, MasterWeights, OptimizerSection, TrainingSection};

const THREADS: i32 = 2;
const TOKENS: usize = 512;
const PROMPT: usize = 64;
/// Fewest tokens of a micro-batch on a GPU.
const GPU_MICRO_BATCH: usize = 16_384;
/// Shortest total time of one measurement, equal to that of the peer benchmarks.
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
    let program = std::env::current_exe().context("where this program is")?;
    let status = Command::new(program).args(["--here", measurement]).status()?;
    ensure!(status.success(), "{measurement}: {status}");
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "one arm a measurement")]
fn measure(measurement: &str) -> Result<()> {
    let parts: Vec<&str> = measurement.split(':').collect();
    let [model, dtype, what, more @ ..] = parts.as_slice() else {
        bail!("`{measurement}` is no MODEL:DTYPE:WHAT[:LENGTHS[:BYTES]] such as 0.5b:f32:train");
    };
    let (lengths, kept) = match more {
        [] => (None, None),
        [lengths] => (Some(*lengths), None),
        [lengths, kept] => (Some(*lengths), Some(*kept)),
        _ => bail!("`{measurement}` has more parts than MODEL:DTYPE:WHAT:LENGTHS:BYTES"),
    };
    let activation_bytes = match kept {
        Some(kept) => usize::try_from(parse_bytes(kept)?)?,
        None => TrainingSection::DEFAULT_ACTIVATION_BYTES,
    };
    let (config, sequences, new_tokens) = match *model {
        "tiny" => (ModelConfig::new(tiny_shape())?, 8, 128),
        name => (preset_model(name).with_context(|| format!("no model `{name}`"))?, 1, 64),
    };
    let device = match std::env::var("LM_BENCH_DEVICE").as_deref() {
        Ok("cuda") => ranks::device::resolve(training_run::config::Device::Cuda(0))?,
        Ok("cpu") | Err(_) => Device::Cpu,
        Ok(other) => bail!("LM_BENCH_DEVICE is `{other}`, expected cpu or cuda"),
    };
    let kind = match *dtype {
        "f32" => Kind::Float,
        "bf16" => Kind::BFloat16,
        other => bail!("dtype `{other}` is neither f32 nor bf16"),
    };
    let decoder = match device {
        Device::Cpu => {
            tch::set_num_threads(THREADS);
            Decoder::initialise(config, 0, device, kind)
        }
        _ => Decoder::random(config, device, kind),
    };
    let decoding = [("gen", 0.0, true), ("sample", 1.0, true), ("plain", 0.0, false)];
    let decoding = decoding.into_iter().find_map(|(name, temperature, kernels)| {
        what.strip_prefix(name).map(|count| (count, temperature, kernels))
    });
    let line = if *what == "launch" {
        launches(&decoder)?
    } else if *what == "save" {
        save(&decoder)?
    } else if let Some((count, temperature, kernels)) = decoding {
        let rows = count.parse().with_context(|| format!("`{count}` of `{what}`"))?;
        let (prompt, max_new_tokens) = pair(lengths, '+')?.unwrap_or((PROMPT, new_tokens));
        let options = GenerationOptions {
            max_new_tokens,
            rows,
            cpu_kernels: kernels,
            cuda_kernels: kernels,
            ..GenerationOptions::at_temperature(temperature)
        };
        decode(&decoder, prompt, &options)?
    } else {
        let (sequences, length) = pair(lengths, 'x')?.unwrap_or((sequences, TOKENS));
        pass(&decoder, what, sequences, length, activation_bytes)?
    };
    let memory = match device {
        Device::Cuda(index) => {
            format!("\"peak_device_mb\":{}", torch_ext::cuda_peak_reserved_bytes(index)? >> 20)
        }
        _ => format!("\"peak_rss_mb\":{}", peak_resident_mib()?),
    };
    let part = |name: &str, part: Option<&str>| {
        part.map(|part| format!("\"{name}\":\"{part}\",")).unwrap_or_default()
    };
    let (lengths, kept) = (part("lengths", lengths), part("kept", kept));
    writeln!(
        std::io::stdout(),
        "{{\"model\":\"{model}\",\"dtype\":\"{dtype}\",\"what\":\"{what}\",{lengths}{kept}{line},{memory}}}"
    )?;
    Ok(())
}

/// Parses two numbers with the separator `sign` between them.
fn pair(text: Option<&str>, sign: char) -> Result<Option<(usize, usize)>> {
    let Some(text) = text else { return Ok(None) };
    let numbers = text.split_once(sign).and_then(|(first, second)| {
        let (first, second) = (first.parse().ok()?, second.parse().ok()?);
        (first > 0 && second > 1).then_some((first, second))
    });
    numbers.map(Some).with_context(|| format!("`{text}` is no pair of numbers with {sign} between"))
}

fn tiny_shape() -> ModelShape {
    ModelShape {
        architecture: Architecture::Qwen2,
        hidden_size: 256,
        intermediate_size: 688,
        num_hidden_layers: 8,
        num_attention_heads: 8,
        num_key_value_heads: 2,
        head_dim: 32,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        rope_scaling: None,
        vocab_size: 8192,
        max_position_embeddings: 4096,
        tie_word_embeddings: true,
        attention: Architecture::Qwen2.attention(),
        experts: None,
        initializer_range: 0.02,
        bos_token_id: None,
        eos_token_ids: Vec::new(),
        pad_token_id: None,
    }
}

/// Returns arbitrary but reproducible token ids.
fn tokens(vocab: usize, count: usize, seed: usize) -> Vec<u32> {
    let token = |place: usize| (place * 7919 + seed * 104_729 + 17) % vocab;
    (0..count).filter_map(|place| u32::try_from(token(place)).ok()).collect()
}

/// Times a forward pass over full sequences, and for `train` a full step.
fn pass(
    decoder: &Decoder,
    what: &str,
    sequences: usize,
    length: usize,
    activation_bytes: usize,
) -> Result<String> {
    let vocab = decoder.config().vocab_size;
    let sequences: Vec<Sequence> = (0..sequences)
        .map(|index| Sequence::new(tokens(vocab, 1, index), tokens(vocab, length - 1, index + 9)))
        .collect();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let pass = PolicyPass {
        model: decoder,
        temperature: 1.0,
        micro_batch_tokens: length.max(if decoder.device() == Device::Cpu {
            1
        } else {
            GPU_MICRO_BATCH
        }),
        activation_bytes,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    };
    let count = sequences.len() * length;
    let milliseconds = match what {
        "fwd" => median(decoder, || {
            let _statistics = pass.statistics(&sequences);
            Ok(())
        })?,
        "train" | "train-split" | "train-none" => {
            decoder.set_trainable(true);
            let master = match what {
                "train" => MasterWeights::F32,
                "train-split" => MasterWeights::Split,
                _ => MasterWeights::None,
            };
            // On a GPU as a run of seven billion parameters would have them.
            let is_wide = decoder.device() == Device::Cpu && master == MasterWeights::F32;
            let moments = if is_wide { Dtype::F32 } else { Dtype::Bf16 };
            let options =
                OptimizerSection { learning_rate: 1e-5, master, moments, ..Default::default() };
            let mut optimizer = AdamW::new(decoder, &options, 0);
            let predicted = sequences.len() * (length - 1);
            let cotangent =
                Cotangent { log_prob: vec![-1.0 / predicted as f64; predicted], entropy: None };
            median(decoder, || {
                let _log_prob = pass.checkpointed_forward(&sequences).backward(&cotangent)?;
                let _outcome = optimizer.step(&Ranks::single(), 1e-5)?;
                Ok(())
            })?
        }
        other => {
            bail!(
                "`{other}` is none of fwd, train, train-split, train-none, genN, sampleN, plainN, launch, save"
            )
        }
    };
    let rate = count as f64 * 1e3 / milliseconds;
    Ok(format!("\"ms\":{milliseconds:.1},\"tok_s\":{rate:.1}"))
}

/// Times kernels of one number: how long the host takes to launch one, and how long one takes until all have ended.
fn launches(decoder: &Decoder) -> Result<String> {
    const COUNT: u32 = 10_000;
    let mut one = tch::Tensor::zeros([1], (Kind::Float, decoder.device()));
    let mut host = Vec::new();
    let until_done = median(decoder, || {
        let begun = Instant::now();
        for _ in 0..COUNT {
            let _ = one.f_add_scalar_(1.0)?;
        }
        host.push(begun.elapsed().as_secs_f64() * 1e3);
        Ok(())
    })?;
    let [host, until_done] = [median_of(host.into_iter()), until_done].map(|ms| ms * 1e3);
    let count = f64::from(COUNT);
    Ok(format!("\"launch_us\":{:.2},\"done_us\":{:.2}", host / count, until_done / count))
}

fn save(decoder: &Decoder) -> Result<String> {
    let folder = |name| std::env::var(name).with_context(|| format!("{name} is not set"));
    let begun = Instant::now();
    decoder.save(folder("LM_BENCH_SAVE")?.as_ref(), folder("LM_BENCH_TOKENIZER")?.as_ref())?;
    Ok(format!("\"ms\":{:.1}", begun.elapsed().as_secs_f64() * 1e3))
}

/// Times decoding until every row has drawn its first, second and last token; weights are packed before the second where that pays.
/// A step is one from the second token to the last.
fn decode(decoder: &Decoder, prompt: usize, options: &GenerationOptions) -> Result<String> {
    let (rows, new_tokens) = (options.rows, options.max_new_tokens);
    ensure!(new_tokens > 2, "a step is measured between the second token and the last");
    let prompts: Vec<Vec<u32>> =
        (0..rows).map(|row| tokens(decoder.config().vocab_size, prompt, row)).collect();
    let requests: Vec<PromptRequest<'_>> = (0..)
        .zip(&prompts)
        .map(|(prompt, token_ids)| PromptRequest {
            token_ids,
            key: SamplingKey { seed: 0, step: 0, prompt },
        })
        .collect();
    let mut drawn = Vec::new();
    repeated(|| {
        let mut times = Times { begun: Instant::now(), drawn: Vec::with_capacity(new_tokens) };
        generate_each(decoder, &requests, options, &mut times)?;
        drawn.push(times.drawn);
        Ok(())
    })?;
    // The first generation warms up.
    let median_at = |token: usize| median_of(drawn[1..].iter().map(|times| times[token]));
    let steps = drawn[1..].iter().map(|times| times[new_tokens - 1] - times[1]);
    let step = median_of(steps) / (new_tokens - 2) as f64;
    Ok(format!(
        "\"first_ms\":{:.1},\"second_ms\":{:.1},\"all_ms\":{:.1},\"decode_ms_per_step\":{step:.2},\
         \"decode_tok_s\":{:.1}",
        median_at(0),
        median_at(1),
        median_at(new_tokens - 1),
        rows as f64 * 1e3 / step
    ))
}

/// Times at which tokens were drawn, in milliseconds after the generation began.
struct Times {
    begun: Instant,
    drawn: Vec<f64>,
}

impl Listener for Times {
    fn finished(&mut self, _index: usize, _response: Generated) {}

    fn progress(&mut self, _tally: &Tally) {
        self.drawn.push(self.begun.elapsed().as_secs_f64() * 1e3);
    }
}

/// Median time of `work` in milliseconds, after one warm-up call.
fn median(decoder: &Decoder, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let times = repeated(|| {
        work()?;
        if let Device::Cuda(index) = decoder.device() {
            tch::Cuda::synchronize(i64::try_from(index)?);
        }
        Ok(())
    })?;
    Ok(median_of(times.into_iter()))
}

/// Times of `work` in milliseconds, without the first call, which warms up.
fn repeated(mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    work()?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 3 || start.elapsed() < LONG_ENOUGH {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

fn median_of(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
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
