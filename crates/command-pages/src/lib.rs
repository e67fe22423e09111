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

mod arguments;
mod closed_pipe;
mod completions;
mod examples;
mod man;

pub use arguments::parse;
pub use closed_pipe::{CLOSED_PIPE, Watched};
pub use completions::CompletionsArgs;
pub use examples::{completions_examples, man_examples};
pub use man::ManArgs;
