//! The book's quick commands of this program, run as they stand; its completions in a real bash, its manual through groff.

use std::path::Path;

use workspace_tests::book::run_blocks;
use workspace_tests::shell::{accepts, completions, output, rendered};

const PROGRAM: &str = env!("CARGO_BIN_EXE_softmax-sim");

#[test]
fn quick_commands_of_the_book_run() {
    let outputs = run_blocks("softmax-sim", Path::new(PROGRAM));
    assert_eq!(outputs.len(), 3);
    assert!(outputs[1].contains("clip-cov-kl-cov"), "{}", outputs[1]);
    assert!(outputs[2].contains("ceiling"), "{}", outputs[2]);
}

#[test]
fn bash_completes_subcommands_findings_and_options() {
    let script = output(PROGRAM, &["completions", "bash"]);
    accepts(&script).unwrap();
    let offered = |words: &[&str]| completions(&script, words).unwrap();
    assert_eq!(offered(&["softmax-sim", "ver"]), ["verify"]);
    assert_eq!(offered(&["softmax-sim", "fit-law", "--pre"]), ["--prefix"]);
    assert!(offered(&["softmax-sim", "reproduce", "--"]).contains(&"--quick".to_owned()));
}

#[test]
fn the_manual_says_what_the_help_says() {
    let Some(text) = rendered(&output(PROGRAM, &["man", "fit-law"])) else { return };
    for expected in ["softmax-sim-fit-law", "Fit R = -a exp(H) + b", "--entropy", "in nats"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}
