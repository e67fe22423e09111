//! Options for the model that a command reads, its device and its precision.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use hub_files::ModelParts;
use model_files::text_tokenizer::TextTokenizer;
use tch::Kind;
use training_run::config::Device as DeviceChoice;
use training_run::run_directory::RunDirectory;

use super::hub_names;
use super::named_values::{MaybeKind, kind};
use decoder::model::Decoder;

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
    /// Loads the model of a directory.
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

/// A loaded model, with its tokenizer.
pub(super) struct LoadedModel {
    /// Directory of the model; for a run that of its latest checkpoint.
    pub(super) directory: PathBuf,
    pub(super) decoder: Decoder,
    pub(super) tokenizer: TextTokenizer,
}

impl ModelOptions {
    /// Loads the model, and the tokenizer, which must fit it.
    pub(super) fn load(&self) -> anyhow::Result<LoadedModel> {
        let directory = model_directory(&self.model)?;
        let decoder = self.placement.load(&directory)?;
        let tokenizer = TextTokenizer::load(&directory)?;
        tokenizer.check_vocabulary(decoder.config().vocab_size)?;
        Ok(LoadedModel { directory, decoder, tokenizer })
    }
}

/// Returns the directory of a model. For a run, that of its latest checkpoint, which is then named on standard error.
fn model_directory(path: &Path) -> anyhow::Result<PathBuf> {
    let Ok(run) = RunDirectory::open(path) else { return hub_names::model(path, ModelParts::All) };
    let directory = latest_checkpoint(&run)?;
    let (run, taken) = (path.display(), directory.display());
    let _ = writeln!(std::io::stderr(), "{run} is a run; its latest checkpoint is taken: {taken}");
    Ok(directory)
}

/// The directory of a run's latest checkpoint.
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
