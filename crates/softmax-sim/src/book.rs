//! The book's commands of this program are parsed; `tests/book.rs` runs the quick ones.

use clap::Parser;

use crate::Cli;

/// Beginnings of commands that are not run here, and why.
const PARSED_ONLY: [(&str, &str); 5] = [
    ("softmax-sim verify", "`make demo` runs it; its checks are tests of their own"),
    (
        "softmax-sim reproduce",
        "minutes; the findings have tests of their own, with --list run from another page",
    ),
    ("softmax-sim sweep configs/", "minutes"),
    ("softmax-sim sweep merge", "needs the sweep"),
    ("softmax-sim fit-law GRPO.csv", "needs a run; the same command runs on points of the page"),
];

#[test]
fn every_command_of_the_book_is_parsed() {
    let parse =
        |words: &[String]| Cli::try_parse_from(words).map(drop).map_err(|error| error.to_string());
    let faults = workspace_tests::book::faults("softmax-sim", &PARSED_ONLY, parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
