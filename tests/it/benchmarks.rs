//! The page of benchmarks is that of its numbers, and `scripts/benchmarks.py` puts numbers where they belong.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use workspace_tests::benchmarks::{machines, page, questions};
use workspace_tests::book::{compare_page, read};

use crate::architecture::root;

#[test]
fn the_page_is_made_from_the_numbers() {
    let current = read("docs/benchmarks.md");
    let (_, links) = current.rsplit_once("\n---\n").expect("links at its end");
    compare_page("benchmarks.md", &format!("{}\n---\n{links}", page()));
}

#[test]
fn every_number_has_a_machine_a_commit_and_a_place_of_its_own() {
    let (machines, mut faults) = (machines(), Vec::new());
    let (mut orders, mut count) = (BTreeSet::new(), 0);
    for (name, question) in questions() {
        let is_measured = question.commands.iter().any(|command| command.reads.is_some());
        let (mut cases, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for row in &question.rows {
            count += 1;
            let case = (&row.machine, &row.case, &row.column);
            let is_id_new =
                row.id.as_ref().is_none_or(|id| is_measured && ids.insert((&row.machine, id)));
            let is_commit = row.commit.len() == 7
                && row.commit.chars().all(|digit| matches!(digit, '0'..='9' | 'a'..='f'));
            let is_date = row.date.len() == 10 && row.date.split('-').count() == 3;
            let is_known = machines.contains_key(&row.machine);
            if !(is_id_new && is_commit && is_date && is_known && cases.insert(case)) {
                faults.push(format!("{name}: {row:?}"));
            }
        }
        assert!(orders.insert(question.order), "{name}: another file has order {}", question.order);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 80, "the search finds them: {count}");
}

/// Output of criterion: a long name has a line for itself, a second run compares itself with the first.
const CRITERION: &str = "\
words: 12 allocations, at most 640 bytes
verify/words            time:   [6.9124 µs 7.1346 µs 7.2001 µs]
                        thrpt:  [138.89 Kelem/s 140.16 Kelem/s 144.67 Kelem/s]
                 change:
                        time:   [−1.2000% +0.3000% +1.9000%] (p = 0.60 > 0.05)
                        No change in performance detected.
verify/integer after 10 kB of reasoning
                        time:   [10.1 ms 10.2 ms 10.3 ms]
";

/// A checkout with the script and one question; its programs are scripts that print.
struct Checkout {
    folder: tempfile::TempDir,
}

impl Checkout {
    fn new(question: &Value, printed: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let checkout = Self { folder };
        for name in ["scripts", "docs/benchmarks", "bin"] {
            fs::create_dir_all(checkout.path(name)).expect("a temporary folder is writable");
        }
        let script = "scripts/benchmarks.py";
        fs::copy(root().join(script), checkout.path(script)).expect("the same");
        let machines = json!({
            "A": {"description": "ours", "cpu": "GenuineIntel, family 6, model 1, 4 cores"},
            "B": {"description": "unknown"},
        });
        checkout.write("docs/benchmarks/machines.json", &machines.to_string());
        checkout.write("docs/benchmarks/kernels.json", &question.to_string());
        checkout.write("printed", printed);
        checkout.program("cargo", "cat printed");
        checkout.program("rustc", "echo rustc 1");
        checkout.program("git", "[ $1 = status ] || echo 1234567");
        checkout.processor("GenuineIntel");
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a temporary folder is writable");
    }

    fn program(&self, name: &str, script: &str) {
        let name = format!("bin/{name}");
        self.write(&name, &format!("#!/bin/sh\n{script}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&name), executable).expect("a file of ours");
    }

    fn processor(&self, vendor: &str) {
        let lines = format!("Vendor ID: {vendor}\\nCPU family: 6\\nModel: 1\\nCPU(s): 4\\n");
        self.program("lscpu", &format!("printf '{lines}'"));
    }

    fn run(&self, variables: &[(&str, &str)]) -> Output {
        self.run_with(&[], variables)
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.path("bin").display());
        let mut command = Command::new("python3");
        command.arg(self.path("scripts/benchmarks.py")).args(arguments).env("PATH", path);
        command.env_remove("ONLY").env_remove("RUNS").envs(variables.iter().copied());
        command.current_dir(&self.folder).output().expect("python3 runs")
    }

    /// Runs the script, which must succeed, and returns the rows.
    fn rows(&self, variables: &[(&str, &str)]) -> Vec<Value> {
        let output = self.run(variables);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(self.path("docs/benchmarks/kernels.json")).expect("written");
        let question: Value = serde_json::from_str(&text).expect("it is JSON");
        let mut rows = question["rows"].as_array().expect("rows").clone();
        for row in &mut rows {
            let date = row.as_object_mut().and_then(|row| row.remove("date"));
            assert!(date.is_some(), "{row}");
        }
        rows
    }
}

fn question(unit: &str, reads: &str, rows: &Value) -> Value {
    let commands = json!([{"run": "cargo bench", "reads": reads}, {"run": "peer.py"}]);
    json!({"order": 1, "question": "Kernels", "unit": unit, "method": [], "commands": commands, "rows": rows})
}

#[test]
fn a_measurement_replaces_ours_and_keeps_the_peers() {
    let rows = json!([
        {"case": "words", "id": "verify/words", "ours": 9, "peers": {"C": 3, "D": {"ratio": 2}}, "machine": "A",
         "commit": "7654321", "date": "2026-01-31", "note": "busy"},
        {"case": "words", "id": "verify/words", "ours": 8, "machine": "B", "commit": "7654321", "date": "2026-01-31"},
        {"case": "long", "id": "verify/integer after 10 kB of reasoning", "ours": 8, "machine": "B",
         "commit": "7654321", "date": "2026-01-31"},
    ]);
    let checkout = Checkout::new(&question("µs", "criterion", &rows), CRITERION);
    let long = "verify/integer after 10 kB of reasoning";
    let expected = json!([
        {"case": "words", "id": "verify/words", "ours": 7.13, "peers": {"C": 3}, "peers_date": "2026-01-31",
         "machine": "A", "commit": "1234567"},
        {"case": "long", "id": long, "ours": 10200, "machine": "A", "commit": "1234567"},
        {"case": "words", "id": "verify/words", "ours": 8, "machine": "B", "commit": "7654321"},
        {"case": "long", "id": long, "ours": 8, "machine": "B", "commit": "7654321"},
    ]);
    assert_eq!(Value::Array(checkout.rows(&[])), expected);
}

#[test]
fn several_calls_on_a_new_machine_are_a_range_of_its_own() {
    let rows = json!([
        {"case": "PPO", "id": "vanilla:1000", "ours": 9, "machine": "A", "commit": "7654321", "date": "2026-01-31"},
    ]);
    let checkout = Checkout::new(&question("ms", "loss_bench", &rows), "");
    let count = "echo >>calls; milliseconds=0.12$(wc -l <calls)45";
    let results =
        r#"{\"results\": [{\"loss\": \"vanilla\", \"n\": 1000, \"median_ms\": $milliseconds}]}"#;
    checkout.program("cargo", &format!("{count}; echo \"{results}\""));
    checkout.processor("AuthenticAMD");
    let rows = checkout.rows(&[("RUNS", "3"), ("ONLY", "kernels")]);
    let ours = json!({"case": "PPO", "id": "vanilla:1000", "ours": [0.121, 0.123], "machine": "C", "commit": "1234567"});
    assert_eq!(rows[1], ours);
    let machines = fs::read_to_string(checkout.path("docs/benchmarks/machines.json")).unwrap();
    assert!(machines.contains("AuthenticAMD, family 6, model 1, 4 cores"), "{machines}");
}

#[test]
fn a_number_needs_a_question_that_is_measured_and_a_commit() {
    let checkout = Checkout::new(&question("µs", "criterion", &json!([])), CRITERION);
    let refused = |variables: &[(&str, &str)], expected: &str| {
        let output = checkout.run(variables);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains(expected), "{message}");
    };
    refused(&[("ONLY", "demo")], "nothing measures `demo`, expected some of kernels");
    refused(&[("RUNS", "0")], "RUNS is `0`");
    checkout.program("git", "echo M crates");
    refused(&[], "uncommitted changes");
}

/// A report as `scripts/gpu-check.sh` writes it; the rows of another machine stay, its own former ones go.
#[test]
fn the_numbers_of_a_gpu_are_taken_over() {
    let checkout = Checkout::new(&question("ms", "criterion", &json!([])), "");
    let row = |machine: &str, ours: f64| {
        json!({"case": "7b bf16 gen1, ms a token", "ours": ours, "machine": machine,
               "commit": "7654321", "date": "2026-01-31"})
    };
    let former = json!({"order": 2, "question": "On a GPU", "unit": "", "method": [], "commands": [], "rows": [row("B", 9.0)]});
    checkout.write("docs/benchmarks/gpu.json", &former.to_string());
    let report = |device: &str, commit: &str, step: f64| {
        let measured = json!({"model": "7b", "dtype": "bf16", "what": "gen1", "decode_ms_per_step": step, "peak_device_mb": 15000});
        let sections = json!({"rollout": {"status": "ok", "rows": [measured]}});
        json!({"device": device, "gpu": "a card", "model": "7b", "commit": commit, "date": "2026-02-01", "sections": sections})
    };
    let take = |report: &Value| {
        checkout.write("gpu-check.json", &report.to_string());
        checkout.run_with(&["gpu-check.json"], &[])
    };
    for step in [4.0, 3.456] {
        let output = take(&report("cuda:0", "1234567", step));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = fs::read_to_string(checkout.path("docs/benchmarks/gpu.json")).expect("written");
    let question: Value = serde_json::from_str(&text).expect("it is JSON");
    let expected = json!([
        row("B", 9.0),
        {"case": "7b bf16 gen1, ms a token", "ours": 3.46, "memory": [15000], "machine": "C",
         "commit": "1234567", "date": "2026-02-01"},
    ]);
    assert_eq!(question["rows"], expected);
    let machines =
        fs::read_to_string(checkout.path("docs/benchmarks/machines.json")).expect("written");
    assert!(machines.contains("a card"), "{machines}");
    for (report, words) in [
        (report("cpu", "1234567", 4.0), "measured on the CPU, expected a GPU"),
        (report("cuda:0", "1234567-dirty", 4.0), "commit is `1234567-dirty`"),
    ] {
        let output = take(&report);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains(words), "{message}");
    }
}
