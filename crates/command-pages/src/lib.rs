//! Shell completions and man pages of a command, as two subcommands that every program of the workspace has.
//!
//! ```
//! use clap::{CommandFactory, Parser, Subcommand};
//! use command_pages::{CompletionsArgs, ManArgs};
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
//!     /// Print what makes a shell complete the options
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

mod completions;
mod help;
mod man;

pub use completions::CompletionsArgs;
pub use help::help_faults;
pub use man::ManArgs;
