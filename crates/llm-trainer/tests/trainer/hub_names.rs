//! Names of the hub in place of directories and files, from a cache made by hand.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::fixture::copy_to;
use crate::training_run::{assert_success, train_command, weights};

const COMMIT: &str = "c1899de289a04d12100db370d81485cdf75e47ca";
const LATER: &str = "d1899de289a04d12100db370d81485cdf75e47ca";

const ROWS: &str = "{\"question\": \"1+1=\", \"answer\": \"2\"}\n{\"question\": \"2+3=\", \"answer\": \"5\"}\n\
                    {\"question\": \"1+2=\", \"answer\": \"3\"}\n{\"question\": \"4+4=\", \"answer\": \"8\"}\n";

/// Fills a cache with the model `o/tiny` and the data set `o/sums`.
fn fill(cache: &Path) {
    let (model, data) = (cache.join("models--o--tiny"), cache.join("datasets--o--sums"));
    copy_to("tiny_qwen2_tied", &model.join("snapshots").join(COMMIT));
    let rows = data.join("snapshots").join(COMMIT).join("main/train.jsonl");
    fs::create_dir_all(rows.parent().expect("a folder")).expect("a temporary folder is writable");
    fs::write(rows, ROWS).expect("a temporary folder is writable");
    for repository in [model, data] {
        point_at(&repository, COMMIT);
    }
}

fn point_at(repository: &Path, commit: &str) {
    fs::create_dir_all(repository.join("refs")).expect("a temporary folder is writable");
    fs::write(repository.join("refs/main"), commit).expect("a temporary folder is writable");
}

fn offline(command: &mut Command, cache: &Path) -> Output {
    let command = command.env("HF_HUB_OFFLINE", "1").env("HF_HUB_CACHE", cache);
    command.env("OMP_NUM_THREADS", "1").output().expect("the binary of this crate runs")
}

const NAMES: [&str; 2] = ["model.path=o/tiny", "data.train=o/sums:main/train"];

#[test]
fn a_run_keeps_the_commit_that_it_started_with() {
    let [cache, run, plain, new] = [(); 4].map(|()| tempfile::tempdir().unwrap());
    fill(cache.path());
    assert_success(&offline(&mut train_command(run.path(), &NAMES), cache.path()));
    let text = fs::read_to_string(run.path().join("run/config.toml")).unwrap();
    let config: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(config["model"]["path"].as_str(), Some("o/tiny"));
    let recorded = || fs::read_to_string(run.path().join("run/hub.json")).unwrap();
    let expected = json!({"o/tiny": COMMIT, "datasets/o/sums:main/train": COMMIT});
    assert_eq!(serde_json::from_str::<Value>(&recorded()).unwrap(), expected);

    // The same files by their paths.
    let rows = plain.path().join("sums.jsonl");
    fs::write(&rows, ROWS).unwrap();
    let by_path = format!("data.train={}", rows.display());
    assert_success(&offline(&mut train_command(plain.path(), &[&by_path]), cache.path()));
    assert!(weights(run.path()) == weights(plain.path()), "the weights differ");

    // The branch moves on to a commit that the cache lacks.
    for repository in ["models--o--tiny", "datasets--o--sums"] {
        point_at(&cache.path().join(repository), LATER);
    }
    let before = weights(run.path());
    let mut again = train_command(run.path(), &NAMES);
    again.arg("--resume").arg(run.path().join("run/checkpoints/step-2"));
    assert_success(&offline(&mut again, cache.path()));
    assert!(weights(run.path()) == before, "the weights differ");
    assert_eq!(serde_json::from_str::<Value>(&recorded()).unwrap(), expected);

    let other = offline(&mut train_command(new.path(), &NAMES), cache.path());
    let text = String::from_utf8_lossy(&other.stderr);
    assert!(
        text.starts_with("error: o/tiny: no directory here, not in the hub's cache "),
        "{text}"
    );
    assert_eq!((other.status.code(), text.lines().count()), (Some(2), 1), "{text}");
}

#[test]
fn commands_take_names() {
    let cache = tempfile::tempdir().unwrap();
    fill(cache.path());
    let results = cache.path().join("results").display().to_string();
    for arguments in [
        &["generate", "--model", "o/tiny", "--prompt", "x", "--max-new-tokens", "2"][..],
        &["plan", "--model", "o/tiny", "--set", "training.steps=1"],
        &["data", "check", "o/sums:main/train", "--tokenizer", "o/tiny@main"],
        &["data", "check", "o/sums", "--against", "o/sums:train"],
        &[
            "eval",
            "o/tiny",
            "--set",
            "sums=o/sums:main/train",
            "--max-response-tokens",
            "2",
            "--plain",
            "--output",
            &results,
        ],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        let output = offline(command.args(arguments), cache.path());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {text}");
    }
    let results = fs::read_to_string(Path::new(&results).join("results.json")).unwrap();
    assert!(results.contains("\"sums\""), "{results}");
}
