//! `import-gguf`: a quantised GGUF file as a Hugging Face directory.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use gguf_import::{ImportOptions, TensorDtype, TiePolicy, import};

use crate::progress::Progress;

const MEBIBYTE: u64 = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  # Convert a file to bf16 weights
  llm-trainer import-gguf qwen2.5-0.5b-q8_0.gguf models/qwen2.5-0.5b
  # Convert it to f32 weights
  llm-trainer import-gguf qwen2.5-0.5b-q8_0.gguf models/qwen2.5-0.5b --dtype f32";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// GGUF file of architecture qwen2, qwen3 or llama
    file: PathBuf,
    /// Directory to create: config.json, model.safetensors, tokenizer.json and the rest
    directory: PathBuf,
    /// Number format of the written weights
    #[arg(long, value_enum, default_value_t = Dtype::Bf16)]
    dtype: Dtype,
    /// Matrices to write if the file holds both embedding and head
    #[arg(long, value_enum, default_value_t = Tie::Auto)]
    tie: Tie,
}

/// Kind of the weights written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dtype {
    /// 16-bit floats with the range of f32
    Bf16,
    /// IEEE half precision
    F16,
    /// 32-bit floats
    F32,
}

/// Treatment of embedding and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tie {
    /// One matrix, the more precise of the two, if the two are nearly equal
    Auto,
    /// Both, unchanged
    Keep,
    /// One matrix, the head's
    Output,
    /// One matrix, the embedding's
    Embedding,
}

/// Converts the file; prints what was written. A failure leaves nothing behind.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let options = ImportOptions {
        dtype: match args.dtype {
            Dtype::Bf16 => TensorDtype::Bf16,
            Dtype::F16 => TensorDtype::F16,
            Dtype::F32 => TensorDtype::F32,
        },
        tie: match args.tie {
            Tie::Auto => TiePolicy::Auto,
            Tie::Keep => TiePolicy::Keep,
            Tie::Output => TiePolicy::Output,
            Tie::Embedding => TiePolicy::Embedding,
        },
    };
    let mut progress: Option<Progress> = None;
    let summary = import(&args.file, &args.directory, &options, &mut |now| {
        let total = now.total_bytes.div_ceil(MEBIBYTE);
        progress
            .get_or_insert_with(|| Progress::new("import, MiB", total, 0))
            .advance(now.written_bytes / MEBIBYTE, now.tensor);
    })?;
    if let Some(progress) = &progress {
        progress.finish();
    }
    writeln!(
        out,
        "{}: {} with {} tensors, {} MiB; sha256 of the weights {}",
        summary.directory.display(),
        summary.architecture,
        summary.tensors,
        summary.bytes / MEBIBYTE,
        summary.sha256
    )?;
    Ok(())
}
