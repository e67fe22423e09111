//! Parts that all programs of the workspace share: argument parsing, the subcommands for shell completions and man pages, and
//! a writer for pipes that the reader may close.
//!
//! ```
//! use clap::{CommandFactory, Parser, Subcommand};
//! use command_pages::{CompletionsArgs, ManArgs, completions_examples};
//!
//! #[derive(Parser)]
//! #[command(name = "program")]
//! struct Cli {
//!     #[command(subcommand)]
//!     command: Command,
//! }
//!
//! #[derive(Subcommand)]
//! enum Command {
//!     /// Print a script with which a shell completes the options
//!     #[command(after_help = completions_examples("program"))]
//!     Completions(CompletionsArgs),
//!     /// Print the manual page, or write all of them
//!     Man(ManArgs),
//! }
//!
//! let Cli { command: Command::Completions(args) } = Cli::parse_from(["program", "completions", "bash"]) else {
//!     unreachable!("parsed as such");
//! };
//! let mut script = Vec::new();
//! args.write(&Cli::command(), &mut script)?;
//! assert!(String::from_utf8_lossy(&script).contains("complete -F"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod closed_pipe;
mod completions;
mod man;

use clap::{Command, Parser};

pub use closed_pipe::{CLOSED_PIPE, Watched};
pub use completions::CompletionsArgs;
pub use man::ManArgs;

/// Reads the arguments of this process, or ends it with what is wrong with them. A negative number is a value wherever
/// one is taken: out of range, it is the program that says so.
pub fn parse<P: Parser>() -> P {
    let mut matches = with_negative_numbers(P::command()).get_matches();
    P::from_arg_matches_mut(&mut matches)
        .unwrap_or_else(|error| error.format(&mut P::command()).exit())
}

fn with_negative_numbers(command: Command) -> Command {
    let taken = |argument: clap::Arg| {
        let takes_value = argument.get_action().takes_values();
        if takes_value { argument.allow_negative_numbers(true) } else { argument }
    };
    command.mut_args(taken).mut_subcommands(with_negative_numbers)
}

/// Examples of `completions` for the help of the program of this name.
pub fn completions_examples(program: &str) -> String {
    format!(
        "\
Examples:
  # Write the script for bash; `source` reads it
  {program} completions bash > {program}.bash
  # Write the script for zsh, into a folder of $fpath
  {program} completions zsh > _{program}"
    )
}

/// Examples of `man` for the help of the program of this name, with one of its subcommands.
pub fn man_examples(program: &str, subcommand: &str) -> String {
    format!(
        "\
Examples:
  # Write the page of a subcommand; `man -l FILE` shows it
  {program} man {subcommand} > {program}-{subcommand}.1
  # Write all pages into a folder
  {program} man --dir man1"
    )
}
