//! `serve`: OpenAI's interface over HTTP.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use decoder::model::Decoder;
use model_files::chat_template::ChatTemplate;

use super::hub_names;
use super::model_options::{LoadedModel, ModelOptions, Placement, count_up_to, last_name};
use crate::serve::{Admission, BatchCapacity, Reader, Rollouts, Settings, open, signalled};

/// Default context in tokens (prompt and response), unless the user or the model's positions limit it further.
const TOKENS: usize = 4096;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("serve.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Hugging Face directory with config.json, safetensors and tokenizer.json, or the folder of a run (its latest
    /// checkpoint)
    #[arg(value_name = "MODEL_OR_RUN")]
    model: PathBuf,
    /// Address to listen on; any but a loopback address needs --allow-remote
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    port: u16,
    /// Let other machines connect, by any name: there is no encryption, and no password but --api-key
    #[arg(long)]
    allow_remote: bool,
    /// Refuse requests without `Authorization: Bearer KEY` [default: none is asked for]
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Name of the model in requests [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Number of responses that decode together
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = count_up_to::<65_536>)]
    rows: usize,
    /// Maximum length of prompt and response together, in tokens [default: 4096, or the model's positions if fewer]
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,
    /// Number of requests that wait; further ones are refused with status 429
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = count_up_to::<1_048_576>)]
    queue: usize,
    /// Maximum size of the body of a request, in bytes
    #[arg(long, default_value_t = 4 << 20, value_name = "BYTES", value_parser = count_up_to::<1_073_741_824>)]
    body_bytes: usize,
    /// Maximum number of open connections
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = count_up_to::<65_536>)]
    connections: usize,
    /// Longest wait for the rest of a request, in seconds
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
    read_seconds: f64,
    /// Longest time that started requests continue after SIGTERM, in seconds
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
    grace_seconds: f64,
    /// Folder below which POST /v1/reload from this machine may load other weights of the same model
    /// [default: none, nothing is loaded]
    #[arg(long, value_name = "DIR")]
    reload_root: Option<PathBuf>,
    /// Number of rollouts to record under /rollouts/ID; further ones are refused until some are deleted
    #[arg(long, default_value_t = 0, value_name = "N")]
    record_rollouts: usize,
    #[command(flatten)]
    placement: Placement,
    /// Decode with libtorch's matrix products on the CPU; they are slower with few rows
    #[arg(long)]
    no_cpu_kernels: bool,
}

/// Writes one line with the address once requests are taken, and serves until SIGTERM or SIGINT.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    if !args.host.is_loopback() && !args.allow_remote {
        let expected = "an address of this machine such as 127.0.0.1 without --allow-remote";
        bail!("--host is {}, expected {expected}", args.host);
    }
    ensure!(args.api_key.as_deref() != Some(""), "--api-key is empty, expected a key");
    let seconds = |option: &str, value: f64| match Duration::try_from_secs_f64(value) {
        Ok(duration) if value > 0.0 => Ok(duration),
        _ => Err(anyhow::anyhow!("{option} is {value}, expected a number of seconds above 0")),
    };
    let options = ModelOptions { model: args.model.clone(), placement: args.placement.clone() };
    let read_timeout = seconds("--read-seconds", args.read_seconds)?;
    let grace = seconds("--grace-seconds", args.grace_seconds)?;
    let resolved = |root: &PathBuf| root.canonicalize().with_context(|| root.display().to_string());
    let reload_root = args.reload_root.as_ref().map(resolved).transpose()?;
    let own_name = || match hub_names::name(&args.model) {
        Some(name) => name.to_string(),
        None => last_name(&args.model),
    };
    let name = args.model_name.clone().unwrap_or_else(own_name);
    let (decoder, reader) =
        load(&options, name.clone(), args.context, args.rows, !args.no_cpu_kernels)?;
    let host = (!args.allow_remote).then_some(args.host);
    let settings = Settings {
        admission: Admission { host, api_key: args.api_key.clone() },
        queue: args.queue,
        body_bytes: args.body_bytes,
        connections: args.connections,
        keep_alive: true,
        read_timeout,
        grace,
        reload_root,
        rollouts: (args.record_rollouts > 0)
            .then(|| Arc::new(Rollouts::keeping(Some(args.record_rollouts)))),
    };
    let port = open(SocketAddr::new(args.host, args.port), settings, reader, signalled())?;
    writeln!(out, "serving {name} at http://{}", port.address)?;
    out.flush()?;
    port.answer_by(decoder)
}

/// Loads a model, and what its requests are read against; `context` is the option of that name.
pub(super) fn load(
    options: &ModelOptions,
    model_name: String,
    context: Option<usize>,
    rows: usize,
    cpu_kernels: bool,
) -> anyhow::Result<(Decoder, Reader)> {
    let LoadedModel { directory, decoder, tokenizer } = options.load()?;
    let eos_ids = tokenizer.eos_ids(&directory)?;
    let template = ChatTemplate::load(&directory)?;
    let positions = decoder.config().max_position_embeddings;
    let tokens = context.unwrap_or(positions.min(TOKENS));
    ensure!(
        (2..=positions).contains(&tokens),
        "--context is {tokens}, expected 2 to max_position_embeddings = {positions}"
    );
    let capacity = BatchCapacity { rows, tokens, cpu_kernels };
    let vocab_size = decoder.config().vocab_size;
    Ok((decoder, Reader { tokenizer, template, model_name, vocab_size, eos_ids, capacity }))
}
