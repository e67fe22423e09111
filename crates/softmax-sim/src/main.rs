//! The command `softmax-sim`.

use clap::{Args, Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// CPU reference simulator for the entropy of softmax policies
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check Lemma 1, Proposition 1 and Theorems 1 and 2 on random policies
    ///
    /// Each statement is checked by its order of convergence (a first-order prediction leaves an error
    /// that falls with the square of the step) and by its rigorous bound. Prints one row per check and
    /// ends with 0 if all passed, 1 if one failed, 2 if it could not run.
    Verify(VerifyArgs),
}

#[derive(Args)]
struct VerifyArgs {
    /// Seed of the random policies, advantages and decision processes
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Random policies for each number of actions (2, 8 and 64)
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    policies: u32,
    /// Also write the rows to this file, as JSON; it is replaced as a whole
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Command::Verify(args) = Cli::parse().command;
    match run_verify(&args, &mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Prints the table, writes the file, and tells whether every check passed.
fn run_verify(args: &VerifyArgs, out: &mut impl Write) -> anyhow::Result<bool> {
    let report = softmax_sim::verify(args.seed, args.policies as usize);
    out.write_all(report.table().as_bytes())?;
    out.flush()?;
    if let Some(path) = &args.json {
        report.write_json(path)?;
    }
    Ok(report.passed())
}
