//! `merge`: an adapter added to its model, as a Hugging Face directory of its own.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use tch::{Device, Kind};

use super::model_options::{MaybeKind, kind};
use decoder::model::Decoder;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("merge.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Directory of a PEFT adapter, such as a checkpoint of a run with `[lora]`
    adapter: PathBuf,
    /// Directory to create: config, weights and tokenizer
    directory: PathBuf,
    /// Model of the adapter [default: the one that `adapter_config.json` names]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Number format of the written weights; auto is that of the model
    #[arg(long, default_value = "auto", value_parser = kind("Number format of the model"))]
    dtype: MaybeKind,
}

/// Merges on the CPU, in f32, and prints what was written.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let named = match &args.model {
        Some(model) => Some(model.clone()),
        None => Decoder::base_directory(&args.adapter)?,
    };
    let base = named.with_context(|| {
        let adapter = args.adapter.display();
        format!("{adapter}: holds no adapter, expected adapter_config.json and no config.json")
    })?;
    let target = args.directory.canonicalize();
    for source in [&base, &args.adapter] {
        let same = target.is_ok() && source.canonicalize().ok() == target.as_ref().ok().cloned();
        anyhow::ensure!(!same, "{}: is read from, expected another directory", source.display());
    }
    let kind = args.dtype.map_or_else(|| Decoder::stored_kind(&base), Ok)?;
    let mut decoder = Decoder::load(&base, Device::Cpu, Kind::Float)?;
    decoder.load_adapter(&args.adapter)?;
    decoder.merge_adapter();
    decoder.into_kind(kind).save(&args.directory, &base)?;
    let [written, base, adapter] =
        [&args.directory, &base, &args.adapter].map(|path| path.display());
    Ok(writeln!(out, "{written}: {base} with {adapter}")?)
}
