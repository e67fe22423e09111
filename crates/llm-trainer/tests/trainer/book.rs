//! The book's commands of this program: all are parsed, with the runs that they name, and run as `tests/blocks.rs` says; completions in a
//! real bash, the manual through groff.

use std::path::Path;

use clap::{CommandFactory, Parser};
use llm_trainer::command::Cli;
use training_run::config::{Run, RunConfig};
use workspace_tests::blocks::{copy, faults_of_blocks};
use workspace_tests::book::{faults, faults_of_examples, root};
use workspace_tests::help::{examples, help_faults};
use workspace_tests::shell::{accepts, completions, output, rendered};

use crate::reader::furnish;

/// Parses a command; of one that names a configuration of the repository or a preset, that too.
fn parse(words: &[String]) -> Result<(), String> {
    Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    if !matches!(words[1].as_str(), "train" | "preflight") {
        return Ok(());
    }
    let mut overrides = Vec::new();
    let (mut preset, mut file) = (None, None);
    for pair in words[2..].windows(2) {
        match pair[0].as_str() {
            "--set" => overrides.push(pair[1].clone()),
            "--preset" => preset = Some(pair[1].clone()),
            _ => {}
        }
    }
    if let Some(name) = words[2..].iter().find(|word| word.starts_with("configs/")) {
        file = Some(root().join(name));
    }
    match (preset, file) {
        (Some(name), _) => Run::from_preset(&name, &overrides).map(drop).map_err(|e| e.to_string()),
        (None, Some(path)) => {
            RunConfig::load(&path, &overrides).map(drop).map_err(|error| error.to_string())
        }
        (None, None) => Ok(()),
    }
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_llm-trainer");

#[test]
fn every_command_of_the_book_is_parsed() {
    let faults = faults("llm-trainer", parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_example_of_the_help_is_parsed() {
    let faults = faults_of_examples("llm-trainer", &examples(Cli::command()), parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn blocks_of_the_book_run() {
    let shelf = tempfile::tempdir().unwrap();
    furnish(shelf.path());
    let faults = faults_of_blocks("llm-trainer", Path::new(PROGRAM), |folder, script| {
        let copied = std::fs::read_dir(shelf.path()).and_then(|mut entries| {
            entries.try_for_each(|entry| {
                let name = entry?.file_name();
                // Runs are many small files.
                let is_wanted = name != "runs" || script.contains("runs/");
                if is_wanted {
                    copy(&shelf.path().join(&name), &folder.join(&name))
                } else {
                    Ok(())
                }
            })
        });
        copied.expect("a temporary folder is writable");
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn arguments_are_consistent_and_every_option_says_what_it_does() {
    Cli::command().debug_assert();
    assert_eq!(help_faults(Cli::command()), Vec::<String>::new());
}

#[test]
fn bash_completes_subcommands_options_and_values() {
    let script = output(PROGRAM, &["completions", "bash"]);
    accepts(&script).unwrap();
    let offered = |words: &[&str]| completions(&script, words).unwrap();
    assert_eq!(offered(&["llm-trainer", "tr"]), ["train"]);
    assert_eq!(offered(&["llm-trainer", "--ver"]), ["--version"]);
    assert_eq!(offered(&["llm-trainer", "train", "--res"]), ["--resume"]);
    assert_eq!(offered(&["llm-trainer", "generate", "--dtype", "b"]), ["bf16"]);
    assert_eq!(offered(&["llm-trainer", "eval", "compare", "--meas"]), ["--measure"]);
    // What programs of responses are started by is nobody's to type.
    assert_eq!(offered(&["llm-trainer", "conf"]), ["config"]);
}

#[test]
fn the_manual_says_what_the_help_says() {
    let Some(text) = rendered(&output(PROGRAM, &["man", "serve"])) else { return };
    for expected in ["llm-trainer-serve", "--queue", "status 429", "[default: 64]"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}
