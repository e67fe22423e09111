//! The book's blocks of this program, run as they stand; its completions in a real bash, its manual through groff.

use std::path::Path;

use workspace_tests::blocks::faults_of_blocks;
use workspace_tests::shell::{accepts, completions, output, rendered};

const PROGRAM: &str = env!("CARGO_BIN_EXE_softmax-sim");

/// CSV as another program writes it: the law with a little noise.
const EXPORTED: &str = "step,actor/entropy,critic/rewards/mean\n1,1.2,0.13\n2,0.9,0.31\n3,0.6,0.44\n4,0.4,0.5\n\
    5,0.25,0.54\n6,0.1,0.58\n";

#[test]
fn blocks_of_the_book_run() {
    let furnish = |folder: &Path, _script: &str| {
        std::fs::write(folder.join("GRPO.csv"), EXPORTED).expect("a temporary folder is writable");
    };
    let faults = faults_of_blocks("softmax-sim", Path::new(PROGRAM), furnish);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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
