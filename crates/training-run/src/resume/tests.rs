//! Start of runs, by the contents of their folders.

use super::*;
use crate::config::CheckpointSection;
use crate::manifest;
use crate::run_directory::TRAINER_FOLDER;

/// A run's folder with checkpoints of these steps, all of configuration `a = 1`.
fn run(root: &Path, steps: &[u64]) {
    let directory = RunDirectory::create(root).unwrap();
    directory.write_description("a = 1\n", &(), &()).unwrap();
    for &step in steps {
        let folder = directory.begin_checkpoint(step).unwrap();
        fs::create_dir(folder.path().join(TRAINER_FOLDER)).unwrap();
        let state = folder.path().join(trainer_file(STATE_FILE));
        fs::write(state, format!("{{\"step\": {step}}}")).unwrap();
        directory.finish_checkpoint(step, folder, &CheckpointSection::default()).unwrap();
    }
}

fn origin(root: &Path, resolved: &str, resume: &Resume) -> Result<Start, FileError> {
    super::origin(root, resolved, resume, |checkpoint| {
        Ok(manifest::check(&checkpoint.path, (0, 1)))
    })
}

fn said(root: &Path, resume: &str) -> String {
    let error = origin(root, "a = 1\n", &resume.parse().unwrap()).unwrap_err().to_string();
    error.replace(&root.parent().unwrap().display().to_string(), "DIR")
}

#[test]
fn auto_begins_goes_on_or_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let start = || origin(&root, "a = 1\n", &Resume::Auto).unwrap().origin;
    assert_eq!(start(), Origin::New);
    run(&root, &[]);
    assert!(matches!(start(), Origin::GoOn(_, None)));
    fs::remove_dir_all(&root).unwrap();
    run(&root, &[2, 4]);
    assert_eq!(start().checkpoint().map(|checkpoint| checkpoint.step), Some(4));
    for (resolved, also) in [("a = 2\n", ""), ("a = 2\nb = 3\n", " (and another field)")] {
        let other = origin(&root, resolved, &Resume::Auto).unwrap_err().to_string();
        let expected = format!(
            "holds a run with another configuration: `a` is 1 there, 2 now{also}; expected"
        );
        assert!(other.contains(&expected) && other.ends_with("/run)"), "{other}");
    }
}

#[test]
fn what_is_no_checkpoint_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    run(&folder.path().join("bare"), &[]);
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("empty")).unwrap();
    fs::create_dir(place("model")).unwrap();
    fs::write(place("model").join("config.json"), "{}").unwrap();
    fs::create_dir_all(place("broken").join(TRAINER_FOLDER)).unwrap();
    fs::write(place("broken").join(trainer_file(STATE_FILE)), "{\"step\": -1}").unwrap();
    for (name, expected) in [
        (
            "nowhere",
            "is not there, expected a checkpoint (a folder step-N that holds trainer/state.json)",
        ),
        ("model/config.json", "is a file, expected"),
        ("model", "is a model without the state of a run (`model.path` trains from its weights)"),
        ("empty", "is an empty folder"),
        ("bare", "a run without a checkpoint"),
        ("broken", "trainer/state.json: no number `step`"),
        ("", "is a folder of bare, broken, empty, model, expected"),
    ] {
        let error = said(&root, place(name).to_str().unwrap());
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn a_pointer_that_is_damaged_is_named_and_does_without() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let start = || origin(&root, "a = 1\n", &Resume::Auto).unwrap();
    run(&root, &[2, 4]);
    for checkpoint in ["checkpoints/step-2", "checkpoints/step-4"].map(|name| root.join(name)) {
        let manifest = manifest::Manifest::default().complete(&checkpoint).unwrap();
        manifest.write(&checkpoint).unwrap();
    }
    let latest = root.join("checkpoints/latest");
    for (text, step) in [("", 4), ("step-x\n", 4), ("step-9\n", 4), ("step-3\n", 2)] {
        fs::write(&latest, text).unwrap();
        let started = start();
        assert!(matches!(&started.origin, Origin::Rewind(_, at) if at.step == step), "{started:?}");
        assert!(
            started.notes[0].contains("expected the name of a folder beside it"),
            "{started:?}"
        );
    }
    // Killed between a first checkpoint and its pointer.
    fs::remove_file(&latest).unwrap();
    let started = start();
    assert!(matches!(started.origin, Origin::Rewind(_, Checkpoint { step: 4, .. })), "{started:?}");
    assert_eq!(started.notes, Vec::<String>::new());
}

/// Two trainings of one folder lost rows: the next resume went on without a word.
#[test]
fn metrics_that_end_before_the_checkpoint_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    run(&root, &[2, 4]);
    let metrics = root.join("metrics.jsonl");
    let rows = |last: u64| {
        let lines: Vec<String> =
            (1..=last).map(|step| format!("{{\"step\":{step},\"a\":1}}\n")).collect();
        fs::write(&metrics, lines.concat()).unwrap();
    };
    for last in [4, 5] {
        rows(last);
        origin(&root, "a = 1\n", &Resume::Auto).unwrap();
    }
    rows(3);
    let text = said(&root, "auto");
    assert!(
        text.starts_with(
            "DIR/run/metrics.jsonl: ends with step 3, before the checkpoint of step 4; expected"
        ),
        "{text}"
    );
    let earlier = root.join("checkpoints/step-2").display().to_string();
    origin(&root, "a = 1\n", &earlier.parse().unwrap()).unwrap();
    let latest = Resume::From(root.join("checkpoints/step-4"));
    origin(&folder.path().join("copy"), "a = 1\n", &latest).unwrap();
}

#[test]
fn a_run_is_trained_by_one_process_and_from_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    run(&root, &[2]);
    let directory = RunDirectory::open(&root).unwrap();
    let start = directory.latest_checkpoint().unwrap();
    let lock = RunDirectory::lock(&root).unwrap();
    let text = RunDirectory::lock(&root).unwrap_err().to_string();
    assert!(
        text.ends_with("run: another process trains this run, expected one at a time"),
        "{text}"
    );
    directory.check_latest(start.as_ref()).unwrap();
    let checkpoint = directory.begin_checkpoint(4).unwrap();
    directory.finish_checkpoint(4, checkpoint, &CheckpointSection::default()).unwrap();
    let text = directory.check_latest(start.as_ref()).unwrap_err().to_string();
    assert!(
        text.contains("trained this run meanwhile, up to step 4; expected it as it was"),
        "{text}"
    );
    drop(lock);
    RunDirectory::lock(&root).unwrap();
}
