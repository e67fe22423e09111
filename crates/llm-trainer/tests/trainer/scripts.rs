//! The command lines of `scripts/`: every option that they set is one of the program, and of a run that can be planned.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::fixture::directory;
use crate::training_run::assert_success;

/// The published methods.
const RECIPES: [&str; 4] = ["grpo", "clip-higher", "clip-cov", "kl-cov"];

/// torchrun as far as the scripts use it: the program is asked what it would do as one of so many ranks.
const TORCHRUN: &str = r#"#!/usr/bin/env bash
set -euo pipefail
nodes=1 each=1
while [[ $1 != --no-python ]]; do
  case $1 in
    --nnodes) nodes=$2; shift ;;
    --nproc-per-node) each=$2; shift ;;
    --max-restarts | --rdzv-backend | --rdzv-endpoint | --rdzv-id) shift ;;
    --standalone) ;;
    *) echo "torchrun: $1" >&2; exit 64 ;;
  esac
  shift
done
shift
exec "$@" --dry-run --ranks $((nodes * each)) --ranks-per-node "$each"
"#;

/// The program, whose `launch` is that in the same way.
const LAUNCH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
program=PROGRAM
[[ $1 == launch ]] || exec "$program" "$@"
shift
nodes=1 each=1
while [[ $1 != -- ]]; do
  case $1 in
    -n) each=$2 ;;
    --nnodes) nodes=$2 ;;
    --node-rank | --master-addr | --master-port) ;;
    *) echo "launch: $1" >&2; exit 64 ;;
  esac
  shift 2
done
shift
exec "$@" --dry-run --ranks $((nodes * each)) --ranks-per-node "$each" --gpu "$GPU"
"#;

/// srun, in the same way.
const SRUN: &str = r#"#!/usr/bin/env bash
set -euo pipefail
while [[ $1 == --* ]]; do
  [[ $1 == --kill-on-bad-exit=1 ]] || { echo "srun: $1" >&2; exit 64; }
  shift
done
exec "$@" --dry-run --ranks $((SLURM_JOB_NUM_NODES * 8)) --ranks-per-node 8
"#;

/// A folder with these launchers and a file of questions.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let launch = LAUNCH.replace("PROGRAM", env!("CARGO_BIN_EXE_llm-trainer"));
        let launchers = [("torchrun", TORCHRUN), ("srun", SRUN), ("trainer", launch.as_str())];
        for (name, text) in launchers {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a temporary folder is writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        }
        let question = "{\"problem\": \"1 + 1\", \"answer\": \"2\"}\n";
        fs::write(folder.path().join("questions.jsonl"), question).expect("the same folder");
        Self { folder }
    }

    fn run(&self, script: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").expect("a search path");
        let mut command = Command::new("bash");
        command.arg(scripts().join(script)).args(arguments).current_dir(self.folder.path());
        // Without what this process may have inherited.
        let inherited =
            ["EVALUATION", "GPUS", "METHOD", "RENDEZVOUS", "DRY_RUN", "PLAN", "LAUNCHER"];
        for name in inherited.into_iter().chain(["GPU_MEMORY", "NODE_RANK"]) {
            command.env_remove(name);
        }
        command
            .env("PATH", format!("{}:{path}", self.folder.path().display()))
            .env("LLM_TRAINER", self.folder.path().join("trainer"))
            .env("GPU", "h200")
            .env("MODEL", directory("tiny_qwen2_untied"))
            .env("DATA", self.folder.path().join("questions.jsonl"))
            .env("OUTPUT", self.folder.path().join("run"))
            .envs(variables.iter().copied());
        command.output().expect("bash is there")
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// Checks the printed plan of a run that was not started.
fn planned(output: &Output, ranks: usize, parts: &[&str]) {
    assert_success(output);
    let text = String::from_utf8_lossy(&output.stdout);
    let ranks = format!("# {ranks} ranks: ");
    for expected in [&[ranks.as_str(), "sent by each rank in a training step"], parts].concat() {
        assert!(text.contains(expected), "`{expected}` is not in\n{text}");
    }
}

/// Both sizes of each recipe, one of them on one machine, the other on four.
#[test]
fn every_recipe_of_both_sizes_can_be_planned_on_one_machine_and_on_four() {
    let stage = Stage::new();
    for (script, name, on_four) in [("train-7b.sh", "7b", 0), ("train-32b.sh", "32b", 1)] {
        for (index, method) in RECIPES.into_iter().enumerate() {
            let name = format!("name = \"qwen2.5-{name}-{method}\"");
            if index % 2 == on_four {
                let variables = [("RENDEZVOUS", "host:29500"), ("NODE_RANK", "3")];
                let four = stage.run(script, &[method, "4"], &variables);
                planned(&four, 32, &[&name, "4 nodes of 8 devices"]);
            } else {
                planned(&stage.run(script, &[method], &[]), 8, &[&name]);
            }
        }
        let variables = [("RENDEZVOUS", "host:29500"), ("GPUS", "4"), ("LAUNCHER", "torchrun")];
        let further = ["kl-cov", "2", "--", "--set", "training.steps=7"];
        let output = stage.run(script, &further, &variables);
        planned(&output, 8, &["steps = 7", "2 nodes of 4 devices"]);
        let shown = stage.run(script, &["kl-cov"], &[("PLAN", "1")]);
        planned(&shown, 8, &["memory of one rank"]);
    }
    assert!(!stage.folder.path().join("run").exists());
}

#[test]
fn a_job_of_slurm_can_be_planned() {
    let stage = Stage::new();
    let repository = scripts().join("..").display().to_string();
    for (script, nodes, ranks, method) in [
        ("train-7b.sbatch", "1", 8, "grpo"),
        ("train-7b.sbatch", "4", 32, "kl-cov"),
        ("train-32b.sbatch", "1", 8, "clip-higher"),
        ("train-32b.sbatch", "4", 32, "clip-cov"),
    ] {
        let variables = [
            ("SLURM_SUBMIT_DIR", repository.as_str()),
            ("SLURM_JOB_NUM_NODES", nodes),
            ("SLURM_JOB_END_TIME", "4102444800"),
            ("METHOD", method),
        ];
        let expected = [method, " of 8 devices", "memory of one rank"];
        planned(&stage.run(script, &[], &variables), ranks, &expected);
    }
}

/// The settings of a published run on so many machines with eight of these GPUs, and what was said of them.
fn chosen(script: &str, shape: [usize; 6], nodes: &str, gpu: &str) -> (Vec<String>, String) {
    let stage = Stage::new();
    let [hidden, intermediate, blocks, heads, key_heads, vocabulary] = shape;
    let model = stage.folder.path().join("model");
    let config = serde_json::json!({
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": hidden,
        "intermediate_size": intermediate, "num_hidden_layers": blocks, "num_attention_heads": heads,
        "num_key_value_heads": key_heads, "vocab_size": vocabulary, "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": false, "hidden_act": "silu",
        "initializer_range": 0.02, "eos_token_id": 151_643,
    });
    fs::create_dir(&model).expect("a temporary folder is writable");
    fs::write(model.join("config.json"), config.to_string()).expect("the same folder");
    let model = model.display().to_string();
    let variables = [
        ("MODEL", model.as_str()),
        ("GPU", gpu),
        ("DRY_RUN", "1"),
        ("RENDEZVOUS", "host:29500"),
        ("NODE_RANK", "0"),
    ];
    let output = stage.run(script, &["kl-cov", nodes], &variables);
    assert_success(&output);
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert!(words[1..4] == ["launch", "-n", "8"], "{line}");
    let pairs = words.windows(2).filter(|pair| pair[0] == "--set");
    let settings = pairs.map(|pair| pair[1].replace('\\', "")).collect();
    (settings, String::from_utf8_lossy(&output.stderr).into_owned())
}

const SHAPE_7B: [usize; 6] = [3584, 18_944, 28, 28, 4, 152_064];
const SHAPE_32B: [usize; 6] = [5120, 27_648, 64, 40, 8, 152_064];

#[test]
fn a_published_run_takes_the_settings_that_its_gpus_have_memory_for() {
    let has = |settings: &[String], one: &str| settings.iter().any(|setting| setting == one);
    let bf16 = "optimizer.moments=bf16";
    let away = "parallel.offload_block_inputs=true";
    let (large, message) = chosen("train-7b.sh", SHAPE_7B, "1", "h200");
    assert!(has(&large, "parallel.zero=3") && !has(&large, away), "{large:?}");
    assert!(!has(&large, bf16) && message.is_empty(), "moments stay in f32: {large:?} {message}");
    let (small, message) = chosen("train-7b.sh", SHAPE_7B, "1", "h100");
    assert!(has(&small, away) && !has(&small, bf16) && message.is_empty(), "{small:?} {message}");
    assert!(!small.iter().any(|one| one.starts_with("algorithm.")), "{small:?}");
    let (pairs, _) = chosen("train-32b.sh", SHAPE_32B, "4", "h200");
    assert!(has(&pairs, "parallel.tensor=2"), "{pairs:?}");
}

/// A wrong setting reaches the person who started the script.
#[test]
fn what_the_program_refuses_fails_the_script() {
    let stage = Stage::new();
    let output = stage.run("train-7b.sh", &["grpo", "--", "--set", "training.stpes=7"], &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("stpes"), "{text}");
}
