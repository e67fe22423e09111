//! The book's commands of this program are parsed; `tests/book.rs` runs the quick ones.

use clap::{CommandFactory, Parser};

use crate::Arguments;

/// Beginnings of commands that are not run here, and why.
const PARSED_ONLY: [(&str, &str); 4] = [
    ("reward-math explain --bare x^2", "stands in a block with commands that need a file"),
    ("reward-math explain \\boxed{\\sqrt{12}}", "the same on one page, and run from another"),
    ("reward-math grade", "needs a file of rollouts; has tests of its own"),
    ("reward-math bench", "measures a file of rollouts"),
];

#[test]
fn every_command_of_the_book_is_parsed() {
    let parse = |words: &[String]| {
        Arguments::try_parse_from(words).map(drop).map_err(|error| error.to_string())
    };
    let faults = workspace_tests::book::faults("reward-math", &PARSED_ONLY, parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn arguments_are_consistent_and_every_option_says_what_it_does() {
    Arguments::command().debug_assert();
    assert_eq!(command_pages::help_faults(Arguments::command()), Vec::<String>::new());
}
