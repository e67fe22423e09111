//! `reward-math`: grades answers from the command line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use reward_math::{Options, Reward, explain, grade};

/// Decides whether a model's mathematical answer is right
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Grade JSON lines `{"response": …, "ground_truth" or "answer": …}`; rows go to stdout with their verdict
    Grade {
        /// File to read; standard input if absent
        file: Option<PathBuf>,
        #[command(flatten)]
        mode: Mode,
    },
    /// Show what is extracted, how both sides are read and which step decides
    Explain {
        /// The model's text
        response: String,
        /// The ground truth
        gold: String,
        #[command(flatten)]
        mode: Mode,
    },
}

#[derive(clap::Args)]
struct Mode {
    /// Only a box counts
    #[arg(long, conflicts_with = "last_number")]
    strict: bool,
    /// Take the last number where no answer is marked
    #[arg(long)]
    last_number: bool,
}

impl Mode {
    fn options(&self) -> Options {
        Options { strict: self.strict, last_number: self.last_number, ..Options::default() }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let result =
        run(&arguments.command, &mut out).and_then(|()| out.flush().context("standard output"));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What was graded before the bad line is kept.
            let _ = out.flush();
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

fn run(command: &Command, out: &mut impl Write) -> anyhow::Result<()> {
    match command {
        Command::Grade { file, mode } => {
            let input: Box<dyn BufRead> = match file {
                Some(path) => {
                    let file = File::open(path)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    Box::new(BufReader::new(file))
                }
                None => Box::new(io::stdin().lock()),
            };
            let counts = grade(input, out, &mode.options(), &Reward::default())?;
            out.flush()?;
            writeln!(
                io::stderr(),
                "{} right, {} wrong, {} unparsed",
                counts.right,
                counts.wrong,
                counts.unparsed
            )?;
            Ok(())
        }
        Command::Explain { response, gold, mode } => {
            write!(out, "{}", explain(response, gold, &mode.options()))?;
            Ok(())
        }
    }
}
