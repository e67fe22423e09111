//! Devices of commands: reported in the first line, and never silently the CPU on a machine with a GPU.

use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::directory;
use crate::training_run::{assert_success, train_command};

/// Beginning of every first line.
const FIRST: &str = "llm-trainer: device ";

/// Creates a folder with the files of a machine with a GPU.
fn gpu_machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(root.path().join("dev")).expect("a temporary folder is writable");
    std::fs::write(root.path().join("dev/nvidia0"), "").expect("a temporary folder is writable");
    root
}

/// Runs a command on the machine of `root`, with `visible` as `CUDA_VISIBLE_DEVICES`.
fn on(mut command: Command, root: &Path, visible: &str) -> Output {
    command.env("LLM_TRAINER_NVIDIA_ROOT", root).env("CUDA_VISIBLE_DEVICES", visible);
    command.env("OMP_NUM_THREADS", "1").output().expect("the binary of this crate runs")
}

/// Device number that no machine has.
const NONE_OF_THEM: &str = "99";

fn generate(device: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.arg("generate").arg("--model").arg(directory("tiny_qwen2_tied"));
    command.args(["--prompt", "x", "--max-new-tokens", "2", "--threads", "1"]);
    command.args(["--device", device]);
    command
}

/// Returns the only line of a command that fails.
fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn auto_is_an_error_where_a_gpu_is_that_cannot_be_used() {
    let (root, folder) = (gpu_machine(), tempfile::tempdir().unwrap());
    let train = train_command(folder.path(), &["model.device=auto"]);
    for command in [generate("auto"), train] {
        let text = error(&on(command, root.path(), NONE_OF_THEM));
        assert!(
            text.starts_with("error: device is \"auto\" and /dev/nvidia0 is here, but "),
            "{text}"
        );
        assert!(text.contains("model.device = \"cpu\" or --device cpu"), "{text}");
    }
    assert!(!folder.path().join("run").exists());
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    doctor.arg("doctor");
    let text = error(&on(doctor, root.path(), NONE_OF_THEM));
    assert!(text.starts_with("error: /dev/nvidia0 is here, but "), "{text}");
}

#[test]
fn no_visible_device_is_the_cpu_and_is_said() {
    let output = on(generate("auto"), gpu_machine().path(), "");
    assert_success(&output);
    let message = String::from_utf8_lossy(&output.stderr);
    let first = "cpu, as CUDA_VISIBLE_DEVICES is \"\"; dtype f32; 1 thread; 1 rank\n";
    assert_eq!(message, format!("{FIRST}{first}"));
    let text = error(&on(generate("cuda"), gpu_machine().path(), ""));
    assert!(text.starts_with("error: device is cuda, but CUDA_VISIBLE_DEVICES is \"\""), "{text}");
}

#[test]
fn cuda_is_an_error_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let train = train_command(folder.path(), &["model.device=cuda"]);
    for command in [generate("cuda"), train] {
        let text = error(&on(command, folder.path(), NONE_OF_THEM));
        assert!(text.starts_with("error: device is cuda, but "), "{text}");
    }
}

/// Commands that need no device accept `cuda` on a machine without one.
#[test]
fn a_run_on_cuda_can_be_planned_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut train = train_command(folder.path(), &["model.device=cuda"]);
    train.arg("--dry-run");
    let output = on(train, folder.path(), NONE_OF_THEM);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("device = \"cuda\"") && text.contains("memory of one rank"), "{text}");
}

#[test]
fn the_first_line_of_a_run_says_where_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let auto = train_command(folder.path(), &["model.device=auto", "training.steps=1"]);
    let output = on(auto, folder.path(), NONE_OF_THEM);
    assert_success(&output);
    let message = String::from_utf8_lossy(&output.stderr);
    let first = "cpu, as no NVIDIA device or driver is here; dtype f32; 1 thread; 1 rank\n";
    assert!(message.starts_with(&format!("{FIRST}{first}")), "{message}");
}
