//! The book's commands of this program are parsed; `tests/it/book.rs` runs what is cheap.

use clap::{CommandFactory, Parser};

use crate::Arguments;

#[test]
fn every_command_of_the_book_is_parsed() {
    let faults = workspace_tests::book::faults("reward-math", parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_example_of_the_help_is_parsed() {
    let examples = workspace_tests::help::examples(Arguments::command());
    let faults = workspace_tests::book::faults_of_examples("reward-math", &examples, parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn parse(words: &[String]) -> Result<(), String> {
    Arguments::try_parse_from(words).map(drop).map_err(|error| error.to_string())
}

#[test]
fn arguments_are_consistent_and_every_option_says_what_it_does() {
    Arguments::command().debug_assert();
    assert_eq!(workspace_tests::help::help_faults(Arguments::command()), Vec::<String>::new());
}
