//! The book's quick commands of this program, run as they stand; its completions in a real bash, its manual through groff.

use std::path::Path;
use std::process::Command;

use workspace_tests::book::run_blocks;
use workspace_tests::shell::{accepts, completions, rendered};

fn output(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_reward-math"))
        .args(arguments)
        .output()
        .expect("the binary of this crate runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn quick_commands_of_the_book_run() {
    let outputs = run_blocks("reward-math", Path::new(env!("CARGO_BIN_EXE_reward-math")));
    assert_eq!(outputs.len(), 3);
    let verdict = |text: &str| text.to_lowercase().contains("right");
    assert!(verdict(&outputs[0]), "{}", outputs[0]);
}

#[test]
fn bash_completes_subcommands_and_values() {
    let script = output(&["completions", "bash"]);
    accepts(&script).unwrap();
    let offered = |words: &[&str]| completions(&script, words).unwrap();
    assert_eq!(offered(&["reward-math", "gr"]), ["grade"]);
    assert_eq!(offered(&["reward-math", "grade", "--mode", "st"]), ["strict"]);
}

#[test]
fn the_manual_says_what_the_help_says() {
    let Some(text) = rendered(&output(&["man", "grade"])) else { return };
    for expected in ["reward-math-grade", "--skip-bad-rows", "Reward of a right answer"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}
