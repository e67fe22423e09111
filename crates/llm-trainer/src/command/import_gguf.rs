//! `import-gguf`: a quantised GGUF file as a Hugging Face directory.

use std::io::Write;
use std::path::PathBuf;

use gguf_import::{ImportOptions, ImportSummary, TensorDtype, TiePolicy, import};

use super::model_options::named;
use crate::progress::Progress;

const MEBIBYTE: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("import_gguf.txt").trim_ascii_end())]
pub(super) struct Args {
    /// GGUF file of architecture qwen2, qwen3 or llama
    file: PathBuf,
    /// Directory to create: config.json, model.safetensors, tokenizer.json and the rest
    directory: PathBuf,
    /// Number format of the written weights
    #[arg(long, default_value = "bf16", value_parser = named(DTYPES))]
    dtype: TensorDtype,
    /// Matrices to write if the file holds both embedding and head
    #[arg(long, default_value = "auto", value_parser = named(TIES))]
    tie: TiePolicy,
}

const DTYPES: [(&str, &str, TensorDtype); 3] = [
    ("bf16", "16-bit floats with the range of f32", TensorDtype::Bf16),
    ("f16", "IEEE half precision", TensorDtype::F16),
    ("f32", "32-bit floats", TensorDtype::F32),
];

const TIES: [(&str, &str, TiePolicy); 4] = [
    (
        "auto",
        "One matrix, the more precise of the two, if the two are nearly equal",
        TiePolicy::Auto,
    ),
    ("keep", "Both, unchanged", TiePolicy::Keep),
    ("output", "One matrix, the head's", TiePolicy::Output),
    ("embedding", "One matrix, the embedding's", TiePolicy::Embedding),
];

/// Converts the file; prints what was written. A failure leaves nothing behind.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let options = ImportOptions { dtype: args.dtype, tie: args.tie };
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
    let ImportSummary { directory, architecture, tensors, bytes, sha256, .. } = &summary;
    let (directory, size) = (directory.display(), bytes / MEBIBYTE);
    let written = format!("{architecture} with {tensors} tensors, {size} MiB");
    Ok(writeln!(out, "{directory}: {written}; sha256 of the weights {sha256}")?)
}
