//! The command `softmax-sim`.

mod command;

use command::Cli;
use command_pages::{CLOSED_PIPE, Watched};
use messages::one_line;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = Watched::new(io::stdout().lock());
    match command_pages::parse::<Cli>().command.run(&mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // `… | head` has read enough: that is no error to tell.
        Err(_) if out.is_closed() => ExitCode::from(CLOSED_PIPE),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {}", one_line(error.as_ref()));
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[test]
    fn arguments_are_consistent_and_every_option_says_what_it_does() {
        Cli::command().debug_assert();
        assert_eq!(workspace_tests::help::help_faults(Cli::command()), Vec::<String>::new());
    }

    // `tests/it/book.rs` runs what is cheap.
    #[test]
    fn every_command_of_the_book_is_parsed() {
        let faults = workspace_tests::book::faults("softmax-sim", parse);
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn every_example_of_the_help_is_parsed() {
        let examples = workspace_tests::help::examples(Cli::command());
        let faults = workspace_tests::book::faults_of_examples("softmax-sim", &examples, parse);
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    fn parse(words: &[String]) -> Result<(), String> {
        Cli::try_parse_from(words).map(drop).map_err(|error| error.to_string())
    }
}
