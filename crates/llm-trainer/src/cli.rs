//! The command line.

use clap::Parser;

use crate::command::Command;

/// Trains Qwen2- and Llama-architecture language models, and shows what their entropy does.
#[derive(Debug, Parser)]
#[command(name = "llm-trainer", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}
