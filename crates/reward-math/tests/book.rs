//! The book's quick commands of this program, run as they stand; its completions in a real bash, its manual through groff.

use std::path::Path;

use workspace_tests::book::run_blocks;
use workspace_tests::shell::{accepts, completions, output, rendered};

const PROGRAM: &str = env!("CARGO_BIN_EXE_reward-math");

#[test]
fn quick_commands_of_the_book_run() {
    let outputs = run_blocks("reward-math", Path::new(PROGRAM));
    assert_eq!(outputs.len(), 3);
    let verdict = outputs[0].lines().find(|line| line.starts_with("verdict "));
    assert_eq!(verdict, Some("verdict       right, decided by NormalForm"), "{}", outputs[0]);
}

#[test]
fn bash_completes_subcommands_and_values() {
    let script = output(PROGRAM, &["completions", "bash"]);
    accepts(&script).unwrap();
    let offered = |words: &[&str]| completions(&script, words).unwrap();
    assert_eq!(offered(&["reward-math", "gr"]), ["grade"]);
    assert_eq!(offered(&["reward-math", "grade", "--mode", "st"]), ["strict"]);
}

#[test]
fn the_manual_says_what_the_help_says() {
    let Some(text) = rendered(&output(PROGRAM, &["man", "grade"])) else { return };
    for expected in ["reward-math-grade", "--skip-bad-rows", "Reward of a right answer"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}
