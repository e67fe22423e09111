//! `softmax-sim micro-batch`.

use anyhow::{Context, bail};
use softmax_sim::micro_batch::{MadeUp, MiniBatch, compare};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// Help below the options.
pub(crate) const HELP: &str = "\
The published code of Clip-Cov and KL-Cov selects tokens within each micro-batch, whose size is a question of memory. \
GRPO gives all tokens of a response one advantage, so a micro-batch of one response has no covariance at all: \
Clip-Cov never acts, and KL-Cov penalises arbitrary tokens. This command counts it, on a made-up mini-batch or on the \
rollouts of a run.

Examples:
  softmax-sim micro-batch
  softmax-sim micro-batch --rollout rollouts/step-1.jsonl --sizes 1,2,4

`llm-trainer train --save-rollouts rollouts` writes such files.";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rollouts of one step of a run [default: a made-up mini-batch]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["groups", "group_size", "tokens", "seed"])]
    rollout: Option<PathBuf>,
    /// Sizes of a micro-batch to compare, in responses
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "1,2,4,8,16,32")]
    sizes: Vec<usize>,
    /// Prompts of a made-up mini-batch
    #[arg(long, value_name = "N", default_value_t = 8)]
    groups: usize,
    /// Responses to each prompt
    #[arg(long, value_name = "N", default_value_t = 8)]
    group_size: usize,
    /// Tokens of each response
    #[arg(long, value_name = "N", default_value_t = 256)]
    tokens: usize,
    /// Seed of a made-up mini-batch
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Compares and prints; returns true.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let counts = [args.groups, args.group_size, args.tokens];
    if args.sizes.contains(&0) || counts.contains(&0) {
        bail!("--sizes, --groups, --group-size or --tokens is 0, expected at least 1");
    }
    let batch = if let Some(path) = &args.rollout {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        MiniBatch::read(BufReader::new(file)).with_context(|| path.display().to_string())?
    } else {
        let Args { groups, group_size, tokens, seed, .. } = *args;
        MadeUp { groups, group_size, tokens, seed }.sample()?
    };
    let comparison = compare(&batch, &args.sizes)?;
    let text = if args.json {
        serde_json::to_string_pretty(&comparison)? + "\n"
    } else {
        comparison.table()
    };
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot print")?;
    Ok(true)
}
