//! The command `softmax-sim`.

mod command;

use clap::Parser;
use command::Command;
use std::io::{self, Write};
use std::process::ExitCode;

/// What a shell shows for a program that a closed pipe ended: 128 and the number of `SIGPIPE`.
const CLOSED_PIPE: u8 = 141;

/// CPU reference simulator for the entropy of softmax policies
#[derive(Parser)]
#[command(name = "softmax-sim", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run(&mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // `… | head` has read enough: that is no error to tell.
        Err(error) if is_closed_pipe(&error) => ExitCode::from(CLOSED_PIPE),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether what was written to had been closed by its reader.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod book;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent_and_every_option_says_what_it_does() {
        Cli::command().debug_assert();
        assert_eq!(command_pages::help_faults(Cli::command()), Vec::<String>::new());
    }
}
