//! `softmax-sim entropy-change`.

use super::streams;
use softmax_sim::entropy_change::stream;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// JSON lines to answer; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

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
