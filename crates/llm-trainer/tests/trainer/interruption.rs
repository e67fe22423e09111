//! Runs that are asked to end, or are killed.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use decoder::model::Decoder;
use tch::{Device, Kind};
use training_run::run_directory::RunDirectory;
use workspace_tests::processes::wait_until;

use crate::training_run::{assert_success, comparable_metrics, train, train_command, weights};

fn start(root: &Path, overrides: &[&str]) -> Child {
    let mut command = train_command(root, overrides);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary of this crate runs")
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success(), "{name} could not be sent");
}

/// Waits until the run has written metrics of `steps` steps.
pub(crate) fn wait_for_steps(root: &Path, steps: usize) {
    let metrics = root.join("run/metrics.jsonl");
    wait_until("the run gets on", || {
        std::fs::read_to_string(&metrics).map_or(0, |text| text.lines().count()) >= steps
    });
}

pub(crate) fn latest(root: &Path) -> u64 {
    let directory = RunDirectory::open(&root.join("run")).expect("the run's folder stays one");
    let checkpoint = directory.latest_checkpoint().expect("`latest` names a checkpoint");
    checkpoint.map_or(0, |checkpoint| {
        Decoder::load(&checkpoint.path, Device::Cpu, Kind::Float).expect("a whole checkpoint");
        checkpoint.step
    })
}

#[test]
fn a_run_told_to_end_saves_and_goes_on_to_the_same_end() {
    let (uninterrupted, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Many more than are done by the time that a signal takes to come.
    let settings = ["training.steps=60", "checkpoint.every=0"];
    assert_success(&train(uninterrupted.path(), &settings));

    let child = start(parts.path(), &settings);
    wait_for_steps(parts.path(), 3);
    // Twice, as at the end of a Slurm job: by its step and by `srun`.
    signal(&child, "-TERM");
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("ended by a signal after step"), "{text}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("error"), "{output:?}");
    let saved = latest(parts.path());
    assert!((1..60).contains(&saved), "saved at step {saved}");

    assert_success(&train(parts.path(), &settings));
    assert_eq!(comparable_metrics(uninterrupted.path()), comparable_metrics(parts.path()));
    let end = |root: &Path| std::fs::read(root.join("run/checkpoints/step-60/model.safetensors"));
    assert!(end(uninterrupted.path()).unwrap() == end(parts.path()).unwrap(), "the weights differ");
}

/// A terminal's Ctrl-C goes to the loop and to the run. The loop ends because its command died of the signal.
#[test]
fn an_interrupted_run_ends_the_loop_that_it_is_in() {
    let folder = tempfile::tempdir().unwrap();
    let run = train_command(folder.path(), &["training.steps=100000", "checkpoint.every=0"]);
    // Of tests in the background SIGINT is ignored, which a shell could not undo.
    let mut shell = Command::new("env");
    shell.args(["--default-signal=INT", "bash"]);
    shell.args(["-c", "for i in 1 2; do \"$@\"; echo next; done", "bash"]);
    shell.arg(run.get_program()).args(run.get_args()).process_group(0);
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_steps(folder.path(), 2);
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.expect("kill is there").success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let saved = latest(folder.path());
    let end = format!("ended by a signal after step {saved}");
    assert!(saved > 0 && text.contains(&end) && !text.contains("next"), "{saved}: {text}");
}

#[test]
fn a_run_with_a_deadline_saves_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        train_command(folder.path(), &["training.steps=100000", "checkpoint.every=0"]);
    let output = command.args(["--deadline", "3s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    // On a crowded machine that may be before the first step.
    let saved = latest(folder.path());
    let sentence =
        format!("ended before its deadline after step {saved} of 100000, which is saved");
    assert!(text.contains(&sentence), "{text}");
    assert!(folder.path().join(format!("run/checkpoints/step-{saved}")).exists());
    let mut command = train_command(folder.path(), &["training.steps=100000"]);
    let refused = command.args(["--deadline", "soon"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("soon"));
}

#[test]
fn a_run_asked_to_save_saves_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &["training.steps=4000", "checkpoint.every=0"]);
    wait_for_steps(folder.path(), 2);
    signal(&child, "-USR1");
    wait_until("something is saved", || folder.path().join("run/checkpoints/latest").exists());
    let saved = latest(folder.path());
    let done = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    wait_for_steps(folder.path(), done.lines().count() + 2);
    signal(&child, "-TERM");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    assert!(latest(folder.path()) > saved);
}

#[test]
fn thirty_kills_lose_no_checkpoint() {
    kills_lose_nothing(30, &[]);
}

/// The steps after each kill have the losses of a run in one go, so the reward model and its moments are there.
#[test]
fn kills_lose_nothing_of_a_reward_model() {
    kills_lose_nothing(
        9,
        &["algorithm.advantage=prime", "reward_model.optimizer.learning_rate=1e-3"],
    );
}

/// Killed at any moment, a run has its last complete checkpoint, which loads, and goes on from there.
fn kills_lose_nothing(kills: u64, more: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = ["training.steps=1000", "checkpoint.every=1", "evaluation.every=0"];
    let settings = [&settings[..], more].concat();
    let mut before = 0;
    for kill in 0..kills {
        let mut child = start(folder.path(), &settings);
        // Spread over start-up, sampling, updating and saving.
        if kill % 3 == 0 {
            std::thread::sleep(Duration::from_millis(kill * 7 % 200));
        } else {
            let metrics = folder.path().join("run/metrics.jsonl");
            let lines = std::fs::read_to_string(metrics).map_or(0, |text| text.lines().count());
            wait_for_steps(folder.path(), lines + 1);
            std::thread::sleep(Duration::from_millis(kill * 11 % 60));
        }
        child.kill().expect("it runs");
        child.wait().expect("it was started here");
        if !folder.path().join("run/config.toml").exists() {
            continue;
        }
        let saved = latest(folder.path());
        assert!(saved >= before, "after kill {kill}: step {saved} after step {before}");
        before = saved;
    }
    assert!(before >= kills / 3, "the run got to step {before} between the kills");

    // What was pieced together is what a run in one go does.
    let pieces = comparable_metrics(folder.path());
    let uninterrupted = tempfile::tempdir().expect("a temporary folder");
    let child = start(uninterrupted.path(), &settings);
    wait_for_steps(uninterrupted.path(), pieces.len() + 1);
    signal(&child, "-TERM");
    assert_eq!(child.wait_with_output().expect("it was started here").status.code(), Some(143));
    let expected = comparable_metrics(uninterrupted.path());
    let common = pieces.len().min(expected.len()).saturating_sub(1);
    assert_eq!(pieces[..common], expected[..common]);
}

#[test]
fn the_weights_of_a_repeated_run_are_the_same() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(first.path(), &[]));
    assert_success(&train(second.path(), &[]));
    assert!(weights(first.path()) == weights(second.path()));
}
