//! The subcommands: thin arguments, a writer, one module each.

mod bench;
mod entropy_change;
mod fit_law;
mod micro_batch;
mod policy_table;
mod reproduce;
mod streams;
mod sweep;
mod train;
mod verify;

use clap::{CommandFactory, Parser, Subcommand};
use command_pages::{CompletionsArgs, ManArgs, completions_examples, man_examples};
use std::io::Write;

/// CPU reference simulator for the entropy of softmax policies
#[derive(Parser)]
#[command(name = "softmax-sim", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check the theory on random policies: lemma, proposition, theorems, bound, estimator, methods
    #[command(after_long_help = include_str!("verify.txt").trim_ascii_end())]
    Verify(verify::Args),
    /// Compute the entropy change of one update, for each policy of a JSON-lines file
    #[command(after_long_help = include_str!("entropy_change.txt").trim_ascii_end())]
    EntropyChange(entropy_change::Args),
    /// Run the findings of the paper as experiments and write one report
    ///
    /// Each finding has a claim, a target fixed beforehand, seeds, figures and a verdict. A finding with a result for the
    /// same setting and code does not run again, so a killed run resumes. Exit code: 0 if all findings ran, whatever the
    /// verdicts, 2 if the command could not run.
    #[command(after_help = include_str!("reproduce.txt").trim_ascii_end())]
    Reproduce(reproduce::Args),
    /// Show what Clip-Cov and KL-Cov lose when they select within micro-batches, as published
    #[command(after_long_help = include_str!("micro_batch.txt").trim_ascii_end())]
    MicroBatch(micro_batch::Args),
    /// Train a softmax policy by any method and print its entropy and reward
    #[command(after_long_help = include_str!("train.txt").trim_ascii_end())]
    Train(train::Args),
    /// Run a grid of methods and settings in several processes, or merge their results
    #[command(after_long_help = include_str!("sweep.txt").trim_ascii_end())]
    Sweep(sweep::Args),
    /// Measure the speed of exact policy-gradient steps with entropy and covariance
    #[command(after_long_help = include_str!("bench.txt").trim_ascii_end())]
    Bench(bench::Args),
    /// Fit R = -a exp(H) + b to the points of a run, and forecast from its beginning
    #[command(after_long_help = include_str!("fit_law.txt").trim_ascii_end())]
    FitLaw(fit_law::Args),
    /// Print a script with which a shell completes subcommands, options and their values
    #[command(after_help = completions_examples("softmax-sim"))]
    Completions(CompletionsArgs),
    /// Print the manual page of this program or of a subcommand, or write all of them
    #[command(after_help = man_examples("softmax-sim", "verify"))]
    Man(ManArgs),
}

impl Command {
    /// Runs the command, with its data written to `out`; returns true if all that it checks holds.
    pub(crate) fn run(&self, out: &mut impl Write) -> anyhow::Result<bool> {
        match self {
            Self::Verify(args) => verify::run(args, out),
            Self::EntropyChange(args) => entropy_change::run(args, out),
            Self::Reproduce(args) => reproduce::run(args, out),
            Self::MicroBatch(args) => micro_batch::run(args, out),
            Self::Train(args) => train::run(args, out),
            Self::Sweep(args) => sweep::run(args, out),
            Self::Bench(args) => bench::run(args, out),
            Self::FitLaw(args) => fit_law::run(args, out),
            Self::Completions(args) => Ok(args.write(&Cli::command(), out).map(|()| true)?),
            Self::Man(args) => Ok(args.write(Cli::command(), out).map(|()| true)?),
        }
    }
}
