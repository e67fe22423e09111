//! The book's blocks of this program, run as they stand; its completions in a real bash, its manual through groff.

use std::path::Path;

use workspace_tests::blocks::faults_of_blocks;
use workspace_tests::shell::{accepts, completions, output, rendered};

const PROGRAM: &str = env!("CARGO_BIN_EXE_reward-math");

const ROLLOUTS: &str = r#"{"response": "It is \\boxed{5}.", "answer": "5"}
{"response": "Nobody knows.", "ground_truth": "7"}
"#;

#[test]
fn blocks_of_the_book_run() {
    let furnish = |folder: &Path, _script: &str| {
        let file = folder.join("rollouts.jsonl");
        std::fs::write(file, ROLLOUTS).expect("a temporary folder is writable");
    };
    let faults = faults_of_blocks("reward-math", Path::new(PROGRAM), furnish);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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
