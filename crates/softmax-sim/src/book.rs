//! The book's commands of this program are parsed; `tests/it/book.rs` runs what is cheap.

use clap::Parser;

use crate::Cli;

#[test]
fn every_command_of_the_book_is_parsed() {
    let parse =
        |words: &[String]| Cli::try_parse_from(words).map(drop).map_err(|error| error.to_string());
    let faults = workspace_tests::book::faults("softmax-sim", parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
