//! Whole runs through the binary: resuming, repeating, the files they leave.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use training_run::metrics::{StepMetrics, read_metrics};

use crate::fixture::{directory, said_beside_the_device};
use crate::in_process;

const CONFIG: &str = r#"
name = "tiny"
seed = 3
output_directory = "OUT"

[model]
path = "MODEL"
device = "cpu"
threads = 1

[data]
train = { arithmetic = { operations = ["add"], digits = [1, 1], count = 30, seed = 1 } }
evaluation = { arithmetic = { operations = ["add"], digits = [1, 1], count = 5, seed = 1 } }
prompt = { chat = false }
max_prompt_tokens = 8

[rollout]
prompts_per_step = 4
group_size = 3
max_response_tokens = 6
rows = 5

# With rewards for anything but silence, random weights have something to learn.
[reward]
values = { right = 1.0, wrong = 0.25, unparsed = 0.0 }
grading = { last_number = true }

[algorithm]
mini_batch_prompts = 2
policy_loss = { kl-cov = { fraction = 0.1, coefficient = 1.0 } }

[optimizer]
learning_rate = 1e-3

[training]
steps = 4
micro_batch_tokens = 64

[evaluation]
every = 2
questions = 5
temperature = 1.0

[checkpoint]
every = 2
"#;

/// Runs `llm-trainer train` [in this process](in_process::run), with its output under `root`.
pub(crate) fn train(root: &Path, overrides: &[&str]) -> Output {
    in_process::run(&mut train_command(root, overrides))
}

/// Runs `llm-trainer train` as a process, for what it says beside its data.
pub(crate) fn train_process(root: &Path, overrides: &[&str]) -> Output {
    train_command(root, overrides).output().expect("the binary of this crate runs")
}

/// Runs as [`train_process`] does, by a command that starts the binary in its own way.
pub(crate) fn train_by(command: Command, root: &Path, overrides: &[&str]) -> Output {
    arranged(command, root, overrides).output().expect("the binary of this crate runs")
}

/// The command of [`train`], to be run in another way.
pub(crate) fn train_command(root: &Path, overrides: &[&str]) -> Command {
    arranged(Command::new(env!("CARGO_BIN_EXE_llm-trainer")), root, overrides)
}

/// Writes the configuration of a run with its output under `root`.
pub(crate) fn write_config(root: &Path) -> PathBuf {
    let config = root.join("tiny.toml");
    let text = CONFIG
        .replace("OUT", &root.join("run").display().to_string())
        .replace("MODEL", &directory("tiny_qwen2_tied").display().to_string());
    std::fs::write(&config, text).expect("a temporary folder is writable");
    config
}

fn arranged(mut command: Command, root: &Path, overrides: &[&str]) -> Command {
    command.arg("train").arg(write_config(root));
    for assignment in overrides {
        command.arg("--set").arg(assignment);
    }
    command
}

pub(crate) fn assert_success(output: &Output) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

/// The metrics of every step after the first evaluation.
pub(crate) fn steps(root: &Path) -> Vec<StepMetrics> {
    let mut steps = read_metrics(&root.join("run/metrics.jsonl")).expect("a run leaves metrics");
    steps.retain(|step| step.step() > 0);
    steps
}

/// One metric of every step, which all must have.
pub(crate) fn column(steps: &[StepMetrics], name: &str) -> Vec<f64> {
    let value = |step: &StepMetrics| {
        step.get(name).unwrap_or_else(|| panic!("{name} is missing: {step:?}"))
    };
    steps.iter().map(value).collect()
}

/// All metrics but wall times, memory and what ranks send, which no two runs share.
pub(crate) fn comparable_metrics(root: &Path) -> Vec<Vec<(String, f64)>> {
    read_metrics(&root.join("run/metrics.jsonl"))
        .expect("a run leaves metrics")
        .iter()
        .map(|step| {
            let apart = ["timing_s/", "perf/", "parallel/"];
            step.iter()
                .filter(|(name, _)| !apart.iter().any(|family| name.starts_with(family)))
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        })
        .collect()
}

pub(crate) fn weights(root: &Path) -> Vec<u8> {
    std::fs::read(root.join("run/checkpoints/step-4/model.safetensors"))
        .expect("the last step leaves a checkpoint")
}

/// Runs four steps at once, and again as two and two.
pub(crate) fn goes_on_bit_for_bit(overrides: &[&str]) {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let [uninterrupted, resumed] = folders.each_ref().map(tempfile::TempDir::path);
    assert_success(&train(uninterrupted, overrides));

    assert_success(&train(resumed, overrides));
    // As after a crash in step 4: the checkpoint of step 2 is the latest, and metrics go on beyond it.
    let checkpoints = resumed.join("run/checkpoints");
    std::fs::remove_dir_all(checkpoints.join("step-4")).expect("the last step leaves a checkpoint");
    std::fs::write(checkpoints.join("latest"), "step-2\n").expect("a temporary folder is writable");
    let output = train(resumed, overrides);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("going on after step 2 of 4"), "{text}");

    assert_eq!(comparable_metrics(uninterrupted), comparable_metrics(resumed));
    for (file, bytes) in tensors_of_the_last_checkpoint(uninterrupted) {
        assert!(
            std::fs::read(resumed.join(&file)).is_ok_and(|found| found == bytes),
            "{file} differs"
        );
    }
    let again = train(uninterrupted, overrides);
    assert!(String::from_utf8_lossy(&again.stdout).contains("all 4 steps are done"));
}

/// Weights and optimiser state under their paths, and the reward model's where there is one.
fn tensors_of_the_last_checkpoint(root: &Path) -> Vec<(String, Vec<u8>)> {
    let prefixes = ["model", "adapter_model", "trainer/optimizer"];
    let others = ["model", "adapter_model"].map(|name| format!("reward_model/{name}"));
    let names = prefixes
        .map(str::to_owned)
        .into_iter()
        .chain(others)
        .chain(["trainer/reward_model_optimizer".to_owned()])
        .map(|name| format!("run/checkpoints/step-4/{name}.safetensors"));
    let tensors: Vec<_> = names
        .filter_map(|name| std::fs::read(root.join(&name)).ok().map(|bytes| (name, bytes)))
        .collect();
    let models = 1 + usize::from(root.join("run/checkpoints/step-4/reward_model").is_dir());
    assert_eq!(tensors.len(), 2 * models, "weights and optimiser");
    tensors
}

#[test]
fn two_and_two_steps_equal_four_bit_for_bit() {
    goes_on_bit_for_bit(&[]);
}

#[test]
fn a_run_cut_off_before_its_first_checkpoint_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &[]));
    let expected = comparable_metrics(folder.path());
    let checkpoints = folder.path().join("run/checkpoints");
    std::fs::remove_dir_all(&checkpoints).unwrap();
    std::fs::create_dir(&checkpoints).unwrap();
    assert_success(&train(folder.path(), &[]));
    assert_eq!(comparable_metrics(folder.path()), expected);
}

#[test]
fn a_run_measures_entropy_covariance_and_their_prediction() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(
        folder.path(),
        &["algorithm.mini_batch_prompts=4", "optimizer.learning_rate=1e-5"],
    ));
    let steps = read_metrics(&folder.path().join("run/metrics.jsonl")).unwrap();
    assert_eq!(steps.iter().map(StepMetrics::step).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(steps[0].get("val-core/arithmetic/acc/mean@1").is_some());
    for step in &steps[1..] {
        let get =
            |name: &str| step.get(name).unwrap_or_else(|| panic!("{name} is missing: {step:?}"));
        assert!(get("rollout/mismatch_kl").abs() < 1e-5, "{step:?}");
        assert!(get("actor/entropy") > 0.0);
        if let Some(norm) = step.get("actor/grad_norm").filter(|&norm| norm > 0.0) {
            // A small step: the change of entropy is what Lemma 1 says of the logits' move.
            let (measured, predicted) =
                (get("entropy/measured_change"), get("entropy/predicted_change_lemma1"));
            let tolerance = 0.05 * predicted.abs() + 1e-7;
            assert!((measured - predicted).abs() < tolerance, "{measured} {predicted} {norm}");
        }
    }
    let samples = std::fs::read_to_string(folder.path().join("run/samples/step-1.jsonl")).unwrap();
    assert_eq!(samples.lines().count(), 12);
    for line in samples.lines() {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let verdict = sample["verdict"].as_str().unwrap();
        let reasoned = if verdict == "unparsed" { &sample["why"] } else { &sample["how"]["rung"] };
        assert!(["right", "wrong", "unparsed"].contains(&verdict) && !reasoned.is_null(), "{line}");
        assert_eq!(verdict == "right", sample["reward"].as_f64() == Some(1.0), "{line}");
    }
}

#[test]
fn bad_input_is_one_line_and_leaves_no_run_behind() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let model = folder.path().join("model");
    crate::fixture::copy_to("tiny_qwen2_tied", &model);
    let weights = model.join("model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    let cases = [
        (format!("data.train={{file={{path={:?}}}}}", empty.display().to_string()), "no questions"),
        (format!("model.path={:?}", model.display().to_string()), "model.safetensors"),
        ("optimizer.learning_rate=-1".to_owned(), "`optimizer.learning_rate` is -1"),
        ("training.setps=1".to_owned(), "did you mean `training.steps`?"),
    ];
    for (assignment, expected) in &cases {
        let output = train_process(folder.path(), &[assignment]);
        assert_eq!(output.status.code(), Some(2), "{assignment}");
        let text = said_beside_the_device(&output.stderr);
        assert!(text.contains(expected) && text.lines().count() == 1, "{assignment}: {text}");
        assert!(!folder.path().join("run").exists(), "{assignment} left a run behind");
    }
}

/// A limit on the size of files fails a write as a full disk does, without filling one.
#[test]
fn a_checkpoint_that_cannot_be_written_is_one_line_and_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["training.steps=4"]));
    let checkpoints = folder.path().join("run/checkpoints");
    std::fs::remove_dir_all(checkpoints.join("step-4")).unwrap();
    std::fs::write(checkpoints.join("latest"), "step-2\n").unwrap();

    let mut limited = Command::new("bash");
    // In KiB: metrics and samples fit, weights do not.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]);
    limited.arg(env!("CARGO_BIN_EXE_llm-trainer"));
    let output = train_by(limited, folder.path(), &["training.steps=4"]);

    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().last().unwrap_or_default();
    assert!(error.starts_with("error: ") && error.contains("File too large"), "{text}");
    assert!(error.contains("checkpoints"), "the path is named: {text}");
    let mut left: Vec<String> = std::fs::read_dir(&checkpoints)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["latest", "step-2"]);
    assert_success(&train(folder.path(), &["training.steps=4"]));
}

#[test]
fn another_configuration_in_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["training.steps=1"]));
    let refused = train_process(folder.path(), &["training.steps=1", "seed=4"]);
    assert_eq!(refused.status.code(), Some(2));
    let text = said_beside_the_device(&refused.stderr);
    assert!(text.contains("another configuration") && text.lines().count() == 1, "{text}");
}

/// Log-probabilities of `token_ids` after the first, as transformers computes them from a checkpoint.
const TRANSFORMERS: &str = r"
import json, sys, torch, transformers
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], torch_dtype=torch.float32)
ids = torch.tensor([json.loads(sys.argv[2])])
log_prob = torch.log_softmax(model(ids).logits[0, :-1], -1)
print(json.dumps(log_prob.gather(1, ids[0, 1:, None])[:, 0].tolist()))
";

/// Python with transformers is never required; where it is there (`PYTHON`, or python3), it must read what we write.
#[test]
fn transformers_reads_a_checkpoint_as_we_do() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_transformers =
        Command::new(&python).args(["-c", "import torch, transformers"]).output();
    if !has_transformers.is_ok_and(|output| output.status.success()) {
        eprintln!("{python} has no transformers: checkpoints are not compared with it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &[]));
    let checkpoint = folder.path().join("run/checkpoints/step-4");
    let token_ids = "[49, 43, 50, 61, 200, 7, 99]";

    let theirs = Command::new(&python)
        .args(["-c", TRANSFORMERS])
        .arg(&checkpoint)
        .arg(token_ids)
        .output()
        .unwrap();
    assert_success(&theirs);
    let theirs: Vec<f64> = serde_json::from_slice(&theirs.stdout).unwrap();

    let input = folder.path().join("input.jsonl");
    std::fs::write(&input, format!("{{\"token_ids\": {token_ids}}}\n")).unwrap();
    let ours = Command::new(env!("CARGO_BIN_EXE_llm-trainer"))
        .args(["score", "--device", "cpu", "--model"])
        .arg(&checkpoint)
        .arg("--input")
        .arg(&input)
        .output()
        .unwrap();
    assert_success(&ours);
    let ours: serde_json::Value = serde_json::from_slice(&ours.stdout).unwrap();
    assert_eq!(theirs.len(), 6);
    for (index, theirs) in theirs.iter().enumerate() {
        let ours = ours["log_prob"][index].as_f64().unwrap();
        assert!((ours - theirs).abs() < 1e-4, "token {index}: {ours} and {theirs}");
    }
}
