//! Options for the model that a command reads, its device and its precision.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use decoder::model::Decoder;
use entropy_core::{EntropyBand, InputError};
use hub_files::ModelParts;
use model_files::sampling::Sampling;
use model_files::text_tokenizer::TextTokenizer;
use serde::Serialize;
use tch::Kind;
use training_run::config::Device as DeviceChoice;
use training_run::run_directory::RunDirectory;

use super::hub_names;

/// Options shared by the commands that run a model.
#[derive(Debug, Clone, Args)]
pub(super) struct ModelOptions {
    /// Hugging Face directory with config.json, safetensors and tokenizer.json, the folder of a run (its latest
    /// checkpoint), or a name of the hub such as Qwen/Qwen3-0.6B
    #[arg(long, value_name = "MODEL_OR_RUN")]
    pub(super) model: PathBuf,
    /// Device and precision of the model.
    #[command(flatten)]
    pub(super) placement: Placement,
}

/// Device and precision of a model.
#[derive(Debug, Clone, Args)]
pub(super) struct Placement {
    /// Device: auto, cpu, cuda or cuda:N; auto is the first CUDA device, or the CPU without a GPU
    #[arg(long, default_value = "auto", value_parser = |name: &str| DeviceChoice::try_from(name.to_owned()))]
    pub(super) device: DeviceChoice,
    /// Number format of the weights in memory; auto is f32 on the CPU and bf16 on CUDA
    #[arg(long, default_value = "auto", value_parser = kind("f32 on the CPU, bf16 on CUDA"))]
    pub(super) dtype: MaybeKind,
    /// CPU threads of one operation [default: one per core]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<i32>,
}

/// Reads a count of 1 to `MOST`.
pub(super) fn count_up_to<const MOST: usize>(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST).contains(count));
    count.ok_or_else(|| format!("expected 1 to {MOST}"))
}

impl Placement {
    pub(super) fn load(&self, model: &Path) -> anyhow::Result<Decoder> {
        if let Some(threads) = self.threads {
            if !(1..=1024).contains(&threads) {
                bail!("--threads is {threads}, expected 1 to 1024");
            }
            tch::set_num_threads(threads);
        }
        let device = ranks::device::resolve(self.device)?;
        let default = if device.is_cuda() { Kind::BFloat16 } else { Kind::Float };
        let kind = self.dtype.unwrap_or(default);
        ranks::device::announce(self.device, device, kind, 1);
        Ok(Decoder::load(model, device, kind)?)
    }
}

pub(super) struct LoadedModel {
    /// Directory of the model; for a run that of its latest checkpoint.
    pub(super) directory: PathBuf,
    pub(super) decoder: Decoder,
    pub(super) tokenizer: TextTokenizer,
}

impl ModelOptions {
    /// Loads the model, and the tokenizer, which must fit it.
    pub(super) fn load(&self) -> anyhow::Result<LoadedModel> {
        let directory = match RunDirectory::open(&self.model) {
            Err(_) => hub_names::model(&self.model, ModelParts::All)?,
            Ok(run) => {
                let (path, taken) = (self.model.display(), latest_checkpoint(&run)?);
                eprintln!("{path} is a run; its latest checkpoint is taken: {}", taken.display());
                taken
            }
        };
        let decoder = self.placement.load(&directory)?;
        let tokenizer = TextTokenizer::load(&directory)?;
        tokenizer.check_vocabulary(decoder.config().vocab_size)?;
        Ok(LoadedModel { directory, decoder, tokenizer })
    }
}

pub(super) fn latest_checkpoint(run: &RunDirectory) -> anyhow::Result<PathBuf> {
    let none = || format!("{}: has no checkpoint yet", run.root().display());
    Ok(run.latest_checkpoint()?.with_context(none)?.path)
}

/// The last part of a path after following symbolic links and dots.
pub(super) fn last_name(path: &Path) -> String {
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = canonical.file_name();
    name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Parses one of these names to its value; each comes with its meaning, for the help.
pub(super) fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    rows: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = rows.map(|(name, meaning, _)| PossibleValue::new(name).help(meaning));
    PossibleValuesParser::new(names).map(move |named| {
        let row = rows.iter().find(|row| row.0 == named);
        row.expect("the name of a row").2
    })
}

/// A kind of weights, or none in particular.
pub(super) type MaybeKind = Option<Kind>;

/// Parses a kind of weights; `auto` is the meaning of that name, which is for none in particular.
pub(super) fn kind(auto: &'static str) -> impl TypedValueParser<Value = MaybeKind> {
    named([
        ("auto", auto, None),
        ("f32", "32-bit floats", Some(Kind::Float)),
        ("bf16", "16-bit floats with the range of f32", Some(Kind::BFloat16)),
    ])
}

/// Options of the sampling mask.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub(super) struct MaskOptions {
    #[arg(long, help = help("top_p", Sampling::DEFAULT.top_p))]
    pub(super) top_p: Option<f64>,
    #[arg(long, help = help("top_k", Sampling::DEFAULT.top_k))]
    pub(super) top_k: Option<u32>,
    #[arg(long, help = help("min_p", Sampling::DEFAULT.min_p))]
    pub(super) min_p: Option<f64>,
}

impl MaskOptions {
    /// Plain sampling at `temperature` but for these options.
    pub(super) fn at_temperature(self, temperature: f64) -> Sampling {
        let Sampling { top_p, top_k, min_p, .. } = Sampling::DEFAULT;
        Sampling {
            temperature,
            top_p: self.top_p.unwrap_or(top_p),
            top_k: self.top_k.map_or(top_k, |count| count as usize),
            min_p: self.min_p.unwrap_or(min_p),
        }
    }
}

/// Meaning and default of an option.
pub(super) fn help(option: &str, default: impl Display) -> String {
    format!("{} [default: {default}]", Sampling::meaning(option))
}

/// Bounds of the entropy of the distribution that each token is drawn from.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub(super) struct BandOptions {
    /// Raise the temperature of a token, at most tenfold, until its distribution has this entropy, in nats [default: none]
    #[arg(long, value_name = "H")]
    entropy_floor: Option<f64>,
    /// Lower the temperature of a token, at most to a tenth, until its distribution has this entropy, in nats [default: none]
    #[arg(long, value_name = "H")]
    entropy_ceiling: Option<f64>,
}

impl BandOptions {
    /// The band; `None` where neither bound is given.
    pub(super) fn band(self) -> Result<Option<EntropyBand>, InputError> {
        if self.entropy_floor.is_none() && self.entropy_ceiling.is_none() {
            return Ok(None);
        }
        EntropyBand::new(self.entropy_floor, self.entropy_ceiling).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::command::Cli;

    /// Such counts once ended in a panic, an abort or an endless list.
    #[test]
    fn counts_of_the_command_line_have_an_upper_limit() {
        const HUGE: &str = "4611686018427387904";
        for arguments in [
            ["generate", "--model", "m", "--samples", HUGE].as_slice(),
            &["preflight", "run.toml", "--samples", HUGE],
            &["serve", "m", "--rows", HUGE],
            &["serve", "m", "--queue", HUGE],
            &["serve", "m", "--connections", HUGE],
            &["serve", "m", "--body-bytes", HUGE],
        ] {
            let parsed = Cli::try_parse_from(["llm-trainer"].iter().chain(arguments));
            let message = parsed.unwrap_err().to_string();
            assert!(message.contains("expected 1 to "), "{message}");
        }
    }
}
