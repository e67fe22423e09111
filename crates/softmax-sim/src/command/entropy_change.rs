//! `softmax-sim entropy-change`.

use super::streams;
use softmax_sim::entropy_change::stream;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

pub(crate) const HELP: &str = r#"Input, one JSON object per line; null is an impossible action (-inf):

  {"id": 1, "logits": [0.5, -1, null], "advantages": [1, 0, 0], "eta": 0.1, "rule": "pg"}

rule is pg (policy gradient, advantages centred under the policy: Theorem 1) or npg (natural policy
gradient: Theorem 2). A negative eta descends. Output, in the same order, in nats, with every digit of
a double:

  id, entropy_before, entropy_after, delta, first_order, second_order, remainder,
  remainder_bound, covariance

  delta       exact change = first_order + remainder
  first_order -eta * covariance
  remainder   second_order plus terms of order eta cubed, never above remainder_bound

A bad line is reported on standard error with its number, its field and the expected value; the other
lines are answered. Exit code: 0 if all lines were answered, 1 if one was not, 2 if the command could not
run.

Examples:
  # Answer the requests of a file
  softmax-sim entropy-change requests.jsonl
  # Answer one request
  echo '{"id": 1, "logits": [0.5, -1], "advantages": [1, 0], "eta": 0.1, "rule": "pg"}' | softmax-sim entropy-change"#;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// JSON lines to answer; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Answers the lines; returns true if every line had an answer.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let (_, input) = streams::input(args.file.as_deref())?;
    let mut answers = BufWriter::new(out);
    let tally = stream(BufReader::new(input), &mut answers, &mut io::stderr().lock())?;
    if tally.problems > 0 {
        let total = tally.answers + tally.problems;
        let _ = writeln!(io::stderr(), "{} of {total} lines had no answer", tally.problems);
    }
    Ok(tally.problems == 0)
}
