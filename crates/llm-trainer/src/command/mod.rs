//! The command line: subcommands, one module each: `Args`, and `run(args, out)` that writes data to `out`.

mod config;
mod confined;
mod data;
mod doctor;
mod eval;
mod export;
mod generate;
mod hub_names;
mod import_gguf;
mod inspect;
mod json_lines;
mod memory_check;
mod merge;
mod model_options;
mod plan;
mod preflight;
mod report;
mod reproduce;
mod run_source;
mod score;
mod serve;
mod train;
mod warmup;

use std::io::Write;

use clap::{CommandFactory, Parser, Subcommand};
use command_pages::{
    CLOSED_PIPE, CompletionsArgs, ManArgs, Watched, completions_examples, man_examples,
};
use messages::one_line;

use crate::interruption::Interruption;
use crate::launch::{Ended, LaunchOptions, ProgramFailed, RankFailed, launch};
use crate::out_of_memory;

/// Trains Qwen, Llama, Mistral and Gemma language models by reinforcement learning, and measures their entropy
#[derive(Debug, Parser)]
#[command(name = "llm-trainer", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Returns true if the command computes a model in this process.
    pub fn computes(&self) -> bool {
        matches!(
            self.command,
            Command::Doctor(_)
                | Command::Score(_)
                | Command::Generate(_)
                | Command::Eval(_)
                | Command::Serve(_)
                | Command::Warmup(_)
                | Command::Train(_)
                | Command::Preflight(_)
        )
    }

    /// Returns true if the command may ask libtorch about CUDA. The launcher does not, and a process that becomes another program
    /// must have one thread.
    pub fn may_use_cuda(&self) -> bool {
        !matches!(self.command, Command::Launch(_) | Command::Confined(_))
    }

    /// Runs the subcommand and returns the exit code. Its data goes to `out`; an error becomes one line on `errors`.
    pub fn exit_code(&self, out: &mut Watched<impl Write>, errors: &mut impl Write) -> u8 {
        match out_of_memory::caught(|| self.command.run(out)).and_then(|()| Ok(out.flush()?)) {
            Ok(()) => 0,
            // `… | head` has read enough: that is no error to tell.
            Err(_) if out.is_closed() => CLOSED_PIPE,
            Err(error) => {
                // On a terminal the error is the last line, below what the command has printed.
                let _ = out.flush();
                report_error(&error, errors)
            }
        }
    }
}

/// Writes the error and returns the exit code. Work that was asked to end has reported that itself.
fn report_error(error: &anyhow::Error, errors: &mut impl Write) -> u8 {
    if let Some(interruption) = error.downcast_ref::<Interruption>() {
        return interruption.end();
    }
    let failed = error.downcast_ref::<RankFailed>();
    if let Some(interruption) = failed.and_then(RankFailed::interruption) {
        let _ = writeln!(errors, "{}", one_line(error.as_ref()));
        return interruption.end();
    }
    let _ = writeln!(errors, "error: {}", one_line(error.as_ref()));
    let program = error.downcast_ref::<ProgramFailed>().map(|failed| failed.how);
    failed.map(RankFailed::how).or(program).map_or(2, Ended::exit_code)
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show libtorch, CUDA, threads and memory, and test the arithmetic
    Doctor(doctor::Args),
    /// Check a file of questions for defects before a run
    Data(data::Args),
    /// Compute log-probability and entropy of every token of given texts
    Score(score::Args),
    /// Sample responses from a model
    Generate(generate::Args),
    /// Evaluate a model or a run's checkpoint on sets of questions or tasks of lm-eval and lighteval, or compare two evaluations
    Eval(Box<eval::Args>),
    /// Serve a model over HTTP with OpenAI's interface, by default to this machine only
    Serve(serve::Args),
    /// Train a small model from scratch on worked arithmetic, until it can learn from rewards
    Warmup(warmup::Args),
    /// Train a model by reinforcement learning, or resume an interrupted run
    Train(train::Args),
    /// Show the fields of a configuration with default and meaning, or its JSON schema
    Config(config::Args),
    /// Predict memory, traffic and time of a run, and list changes if it does not fit
    Plan(plan::Args),
    /// Sample responses to the first questions of a run, and report whether the run can learn
    Preflight(preflight::Args),
    /// Start the ranks of one run on this host, and end all when one fails
    Launch(LaunchOptions),
    /// Write one self-contained HTML page, and its figures as SVG, about one or several runs
    Report(report::Args),
    /// Repeat the paper's findings on small models, from warm-up to report
    Reproduce(reproduce::Args),
    /// Browse a run on the terminal: its steps, groups, samples and tokens
    Inspect(inspect::Args),
    /// Write the metrics of a run as CSV, or as event files for TensorBoard
    Export(export::Args),
    /// Merge an adapter that was trained with `[lora]` into its model, and write a Hugging Face directory
    Merge(merge::Args),
    /// Convert a GGUF file of the Qwen2, Qwen3 or Llama architecture into a Hugging Face directory
    ImportGguf(import_gguf::Args),
    /// Print a script with which a shell completes subcommands, options and their values
    #[command(after_help = completions_examples("llm-trainer"))]
    Completions(CompletionsArgs),
    /// Print the manual page of this program or of a subcommand, or write all of them
    #[command(after_help = man_examples("llm-trainer", "train"))]
    Man(ManArgs),
    /// Restrict this process to what is allowed and become the program of a response
    #[command(hide = true)]
    Confined(confined::Args),
}

impl Command {
    fn run(&self, out: &mut impl Write) -> anyhow::Result<()> {
        match self {
            Self::Doctor(args) => doctor::run(args, out),
            Self::Data(args) => data::run(args, out),
            Self::Score(args) => score::run(args, out),
            Self::Generate(args) => generate::run(args, out),
            Self::Eval(args) => eval::run(args, out),
            Self::Serve(args) => serve::run(args, out),
            Self::Warmup(args) => warmup::run(args, out),
            Self::Train(args) => train::run(args, out),
            Self::Config(args) => config::run(args, out),
            Self::Plan(args) => plan::run(args, out),
            Self::Preflight(args) => preflight::run(args, out),
            Self::Launch(options) => launch(options),
            Self::Report(args) => report::run(args, out),
            Self::Reproduce(args) => reproduce::run(args, out),
            Self::Inspect(args) => inspect::run(args, out),
            Self::Export(args) => export::run(args, out),
            Self::Merge(args) => merge::run(args, out),
            Self::ImportGguf(args) => import_gguf::run(args, out),
            Self::Completions(args) => Ok(args.write(&Cli::command(), out)?),
            Self::Man(args) => Ok(args.write(Cli::command(), out)?),
            Self::Confined(args) => confined::run(args),
        }
    }
}
