//! Event files, byte for byte as the package `tensorboard` writes them, and as it reads them.

mod histogram;
mod record;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use run_report::tensorboard::{
    Event, EventContent, EventWriter, ValueKind, event_files, histogram, read_events,
};
use training_run::metric;
use training_run::metrics::{StepMetrics, read_metrics};
use training_run::run_directory::RunDirectory;

use crate::data;

fn step(number: u64, entropy: f64) -> StepMetrics {
    let mut metrics = StepMetrics::new(number);
    metrics.insert(metric!("actor/entropy"), entropy);
    metrics.insert(metric!("timing_s/step"), 2.0);
    metrics
}

fn begin(folder: &Path, history: &[StepMetrics], end: f64) -> EventWriter {
    EventWriter::begin(folder, &[], history, end).expect("a folder that can be written")
}

/// The file of a folder that was begun last.
fn latest(folder: &Path) -> PathBuf {
    event_files(folder).expect("a folder").pop().expect("a file")
}

/// The events of a file without a fault.
fn whole(path: &Path) -> Vec<Event> {
    let (events, is_whole) = read_events(path).expect("a readable file");
    assert!(is_whole);
    events
}

/// `(step, wall time, entropy)` of every event in a folder.
fn entropies(folder: &Path) -> Vec<(i64, f64, f32)> {
    let files = event_files(folder).expect("a folder");
    let events: Vec<Event> = files.iter().flat_map(|path| whole(path)).collect();
    let entropy = |event: &Event| match &event.content {
        Some(EventContent::Summary(summary)) => {
            let value = summary.value.iter().find(|value| value.tag == "actor/entropy")?;
            let Some(ValueKind::SimpleValue(entropy)) = value.kind else { return None };
            Some((event.step, event.wall_time, entropy))
        }
        _ => None,
    };
    events.iter().filter_map(entropy).collect()
}

#[test]
fn a_file_has_the_bytes_that_tensorboard_writes() {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("metrics.jsonl");
    fs::write(&lines, "{\"step\":7,\"critic/rewards/mean\":0.0,\"made-up\":0.75}\n").unwrap();
    let metrics = read_metrics(&lines).unwrap().remove(0);
    let mut writer = begin(&folder.path().join("tfevents"), &[], 1_700_000_000.25);
    let lengths = histogram([3.0; 4]).unwrap();
    let now = UNIX_EPOCH + Duration::from_millis(1_700_000_001_500);
    writer.append(&metrics, &[("response_length/distribution", lengths)], now).unwrap();
    let golden = fs::read(data("tensorboard/golden.tfevents")).unwrap();
    assert_eq!(fs::read(latest(&folder.path().join("tfevents"))).unwrap(), golden);
}

#[test]
fn a_resumed_run_has_every_step_once_and_keeps_the_times_of_old_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = begin(folder.path(), &[], 1_000.0);
    for (number, second) in [(1, 1_010), (2, 1_020), (3, 1_030)] {
        let now = UNIX_EPOCH + Duration::from_secs(second);
        writer.append(&step(number, 1.0 / number as f64), &[], now).unwrap();
    }
    let first = latest(folder.path());
    // Resumed after step 2, a crash later, in the same second as before.
    let mut writer = begin(folder.path(), &[step(1, 9.0), step(2, 9.0)], 1_000.0);
    assert!(fs::read(&first).unwrap().is_empty() && latest(folder.path()) > first);
    assert_eq!(entropies(folder.path()), [(1, 1_010.0, 1.0), (2, 1_020.0, 0.5)]);
    writer.append(&step(3, 0.25), &[], UNIX_EPOCH + Duration::from_secs(1_050)).unwrap();
    assert_eq!(entropies(folder.path())[2..], [(3, 1_050.0, 0.25)]);
    begin(folder.path(), &[step(1, 9.0)], 3_000.0);
    assert_eq!(entropies(folder.path()), [(1, 1_010.0, 1.0)]);
    assert_eq!(event_files(folder.path()).unwrap().len(), 2, "one in use, and the one before it");
}

#[test]
fn a_torn_end_costs_the_torn_step_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = begin(folder.path(), &[step(1, 1.0)], 1_000.0);
    writer.append(&step(2, 0.5), &[], UNIX_EPOCH + Duration::from_secs(1_001)).unwrap();
    let path = latest(folder.path());
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let (events, is_whole) = read_events(&path).unwrap();
    assert_eq!(events.last().map(|event| event.step), Some(1));
    assert!(!is_whole, "a torn end");
    begin(folder.path(), &[step(1, 1.0), step(2, 0.5)], 2_000.0);
    // Step 2 comes from the metrics, with the time of the new start.
    assert_eq!(entropies(folder.path()), [(1, 1_000.0, 1.0), (2, 2_000.0, 0.5)]);
}

#[test]
fn steps_without_a_file_are_dated_back_by_their_durations() {
    let folder = tempfile::tempdir().unwrap();
    begin(folder.path(), &[step(1, 1.0), step(2, 0.5), step(3, 0.25)], 100.0);
    let times: Vec<f64> = entropies(folder.path()).iter().map(|event| event.1).collect();
    assert_eq!(times, [96.0, 98.0, 100.0]);
}

/// A Python with the package `tensorboard`.
fn python() -> Option<String> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import tensorboard"]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!("not run: {python} has no package `tensorboard`; PYTHON names another one");
    None
}

/// The server, as `tensorboard --logdir runs` starts it, asked as its page asks.
#[test]
fn the_real_tensorboard_serves_a_folder_of_runs() {
    let Some(python) = python() else { return };
    let runs = tempfile::tempdir().unwrap();
    for (name, entropy) in [("GRPO", 0.25), ("KL-Cov", 0.75)] {
        let folder = RunDirectory::create(&runs.path().join(name)).unwrap().events();
        begin(&folder, &[step(1, 1.0), step(2, entropy)], 1_000.0);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tensorboard/serve.py");
    let output = Command::new(&python).arg(script).arg(runs.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let reply: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(reply["runs"], serde_json::json!(["GRPO/events", "KL-Cov/events"]));
    let tag = &reply["tags"]["KL-Cov/events"]["actor/entropy"];
    let description = tag["description"].as_str().unwrap();
    assert!(description.contains("exact entropy") && description.contains("In nat."), "{tag}");
    let steps = serde_json::json!([[998.0, 1, 1.0], [1000.0, 2, 0.75]]);
    assert_eq!(reply["scalars"], steps);
}

#[test]
fn devices_and_pipes_are_no_event_files() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, device) = (folder.path().join("pipe"), folder.path().join("device"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    for path in [pipe, device] {
        let error = read_events(&path).unwrap_err().to_string();
        assert_eq!(error, format!("{}: cannot read: not a file", path.display()));
    }
}

/// `EventAccumulator` of the real package, where `python3` has it: CI installs it, other machines need not.
#[test]
fn the_real_tensorboard_reads_every_step_once() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The name that a run gives it: the package takes some folders for files.
    let folder = RunDirectory::create(folder.path()).unwrap().events();
    let begin = |history: &[StepMetrics], end| begin(&folder, history, end);
    let mut writer = begin(&[], 1_000.0);
    for number in 1..=3 {
        let now = UNIX_EPOCH + Duration::from_secs(1_000 + number);
        writer.append(&step(number, 1.0), &[], now).unwrap();
    }
    // It is open while the run is resumed after step 2.
    let script = "\
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
accumulator = EventAccumulator(sys.argv[1])
def show():
    accumulator.Reload()
    print([(e.step, e.wall_time, e.value) for e in accumulator.Scalars('actor/entropy')])
show(); input(); show()
print(sum(h.histogram_value.num for h in accumulator.Histograms('response_length/distribution')))
";
    let mut child = Command::new(&python)
        .args(["-c", script])
        .arg(&folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line.trim(), "[(1, 1001.0, 1.0), (2, 1002.0, 1.0), (3, 1003.0, 1.0)]");
    let mut writer = begin(&[step(1, 1.0), step(2, 1.0)], 1_100.0);
    let lengths = histogram([3.0, 4.0, 5.0]).unwrap();
    let now = UNIX_EPOCH + Duration::from_secs(1_103);
    writer.append(&step(3, 0.5), &[("response_length/distribution", lengths)], now).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    let lines: Vec<&str> = rest.lines().collect();
    assert_eq!(lines, ["[(1, 1001.0, 1.0), (2, 1002.0, 1.0), (3, 1103.0, 0.5)]", "3.0"]);
}
