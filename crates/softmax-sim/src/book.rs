//! The book's commands of this program are parsed; `tests/it/book.rs` runs what is cheap.

use clap::{CommandFactory, Parser};

use crate::Cli;

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
