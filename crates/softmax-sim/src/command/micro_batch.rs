//! `softmax-sim micro-batch`.

use super::streams;
use anyhow::{Context, bail};
use softmax_sim::micro_batch::{MadeUp, MiniBatch, compare};
use std::io::{BufReader, Write};
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
The published code of Clip-Cov and KL-Cov selects tokens within each micro-batch, whose size depends on memory. \
GRPO gives all tokens of a response one advantage, so a micro-batch of one response has no covariance: Clip-Cov \
never acts, and KL-Cov penalises arbitrary tokens. This command counts these tokens, on a made-up mini-batch or on \
the rollouts of a run, which `llm-trainer train --save-rollouts rollouts` writes.

Examples:
  # Count on a made-up mini-batch
  softmax-sim micro-batch
  # Count on the rollouts of a run
  softmax-sim micro-batch --rollout rollouts/step-1.jsonl --sizes 1,2,4";

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

/// Compares and prints; returns true.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let MadeUp { groups, group_size, tokens, .. } = args.made_up;
    if args.sizes.contains(&0) || [groups, group_size, tokens].contains(&0) {
        bail!("--sizes, --groups, --group-size or --tokens is 0, expected at least 1");
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
