//! `softmax-sim micro-batch`.

use super::streams;
use anyhow::{Context, bail};
use softmax_sim::micro_batch::{MadeUp, MiniBatch, compare};
use std::io::{BufReader, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File with the rollouts of one step of a run [default: none, a mini-batch is made up]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["groups", "group_size", "tokens", "seed"])]
    rollout: Option<PathBuf>,
    /// Sizes of micro-batches to compare, in responses
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "1,2,4,8,16,32")]
    sizes: Vec<usize>,
    #[command(flatten)]
    made_up: MadeUp,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Most tokens of a made-up mini-batch: a few gigabytes.
const MOST_TOKENS: usize = 1 << 26;

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let MadeUp { groups, group_size, tokens, .. } = args.made_up;
    if args.sizes.contains(&0) || [groups, group_size, tokens].contains(&0) {
        bail!("--sizes, --groups, --group-size or --tokens is 0, expected at least 1");
    }
    let product =
        [groups, group_size].iter().try_fold(tokens, |product, &n| product.checked_mul(n));
    if product.is_none_or(|product| product > MOST_TOKENS) {
        bail!(
            "--groups times --group-size times --tokens is too large, expected at most {MOST_TOKENS}"
        );
    }
    let batch = if let Some(path) = &args.rollout {
        let file = BufReader::new(streams::open(path)?);
        MiniBatch::read(file).with_context(|| path.display().to_string())?
    } else {
        args.made_up.sample()?
    };
    let comparison = compare(&batch, &args.sizes)?;
    let text = if args.json {
        serde_json::to_string_pretty(&comparison)? + "\n"
    } else {
        comparison.table()
    };
    streams::print(out, &text)?;
    Ok(true)
}
