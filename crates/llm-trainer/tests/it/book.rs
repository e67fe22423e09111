//! The book's commands of this program: all are parsed, with the runs that they name, and the quick ones run; completions in a
//! real bash, the manual through groff.

use std::path::Path;

use clap::{CommandFactory, Parser};
use command_pages::help_faults;
use llm_trainer::cli::Cli;
use trainer_core::config::{Run, RunConfig};
use workspace_tests::book::{faults, root, run_blocks};
use workspace_tests::shell::{accepts, completions, output, rendered};

/// Beginnings of commands that are not run here, and why.
const PARSED_ONLY: [(&str, &str); 17] = [
    (
        "llm-trainer train",
        "minutes; what it would train on is read as far as the configuration is here",
    ),
    ("llm-trainer warmup", "minutes"),
    ("llm-trainer eval", "needs a model that is fetched, or a run"),
    ("llm-trainer generate", "needs a model that is fetched"),
    ("llm-trainer preflight", "needs a model that is fetched"),
    ("llm-trainer serve", "serves until it is stopped"),
    ("llm-trainer launch", "starts a run; what it starts is parsed"),
    ("llm-trainer merge", "needs a run"),
    ("llm-trainer import-gguf", "needs a file that is fetched"),
    ("llm-trainer inspect", "needs a run"),
    ("llm-trainer report", "needs a run"),
    ("llm-trainer export", "needs a run"),
    ("llm-trainer data check dapo", "needs a data set that is not in the repository"),
    (
        "llm-trainer plan --preset",
        "a plan that fits nowhere ends with 2; the page's rows have a test of their own",
    ),
    ("llm-trainer plan --config", "needs a model that is fetched, or a run of the reader's"),
    ("llm-trainer plan --model 32b", "does not fit, which ends with 2"),
    ("llm-trainer doctor", "run from another page"),
];

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
    let faults = faults("llm-trainer", &PARSED_ONLY, parse);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn quick_commands_of_the_book_run() {
    let outputs = run_blocks("llm-trainer", Path::new(PROGRAM));
    let expected =
        ["self-test    Cpu: ok", "4 are questions", "pages: man1", "Qwen2.5-7B", "# Scaling"];
    assert_eq!(outputs.len(), expected.len());
    for (output, expected) in outputs.iter().zip(expected) {
        assert!(output.contains(expected), "{expected} in {output}");
    }
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
    assert_eq!(offered(&["llm-trainer", "train", "--res"]), ["--resume"]);
    assert_eq!(offered(&["llm-trainer", "generate", "--dtype", "b"]), ["bf16"]);
    assert_eq!(offered(&["llm-trainer", "eval", "compare", "--meas"]), ["--measure"]);
    // What programs of responses are started by is nobody's to type.
    assert!(offered(&["llm-trainer", "conf"]).is_empty());
}

#[test]
fn the_manual_says_what_the_help_says() {
    let Some(text) = rendered(&output(PROGRAM, &["man", "serve"])) else { return };
    for expected in ["llm-trainer-serve", "--queue", "status 429", "[default: 64]"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}
