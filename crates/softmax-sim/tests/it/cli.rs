//! The command `softmax-sim` as it is called from outside.

use softmax_sim::Settings;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn softmax_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_softmax-sim"))
        .args(arguments)
        .output()
        .expect("the binary was built with the tests")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("the folder exists").count()
}

/// One run of it, as each takes seconds: what it prints, and the file.
#[test]
fn verify_prints_one_line_per_check_and_json_holds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.json");
    let settings = ["verify", "--seed", "3", "--policies", "8", "--cases", "100", "--json"];
    let output = softmax_sim(&[&settings[..], &[path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = softmax_sim::verify(&Settings { seed: 3, policies: 8, cases: 100 });
    assert_eq!(text(&output.stdout), report.table(false));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    let passes = lines.iter().filter(|line| line.ends_with(" pass")).count();
    assert_eq!(passes, report.rows.len());
    let total = report.rows.len();
    assert_eq!(lines.last(), Some(&format!("{total} of {total} checks passed, seed 3").as_str()));
    // Nobody watches a bar here: a line now and then.
    let told: Vec<&str> = text(&output.stderr).lines().collect();
    assert!((5..20).contains(&told.len()), "{told:?}");
    assert!(told.iter().all(|line| line.starts_with("verify: ")), "{told:?}");

    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(json["seed"], 3);
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), total);
    for row in rows {
        for field in ["allowed", "cases", "check", "method", "passed", "statement", "worst"] {
            assert!(!row[field].is_null(), "`{field}` of {row}");
        }
        assert_eq!(row["estimate"].is_null(), row["interval"].is_null(), "{row}");
        assert!(row["worst"].is_f64() && row["passed"] == true, "{row}");
    }
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn bad_arguments_end_with_2_and_are_named() {
    for (arguments, named) in [
        (&["verify", "--policies", "7"][..], "--policies"),
        (&["verify", "--cases", "0"], "--cases"),
        (&["verify", "--full", "--cases", "10"], "--cases"),
        (&["verify", "--seed", "-1"], "-1"),
        (&["verify", "--sed", "1"], "--sed"),
        (&["prove"], "prove"),
        (&[], "Usage"),
    ] {
        let output = softmax_sim(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_ends_with_2_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.json");
    fs::create_dir(&path).unwrap();
    let output = softmax_sim(&[
        "verify",
        "--policies",
        "8",
        "--cases",
        "10",
        "--json",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("error: {}: cannot write: ", path.display());
    let last = text(&output.stderr).lines().last();
    assert!(last.is_some_and(|line| line.starts_with(&expected)), "{output:?}");
    assert_eq!((entries(folder.path()), entries(&path)), (1, 0));
}

#[test]
fn bench_prints_a_result_for_every_size_and_rule() {
    let sizes = ["bench", "--sizes", "1x10,30x100", "--seconds", "0.001", "--threads", "1"];
    let output = softmax_sim(&sizes);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = json["results"].as_array().unwrap();
    let keys: Vec<String> = results
        .iter()
        .map(|r| format!("{}x{} {} {} {}", r["S"], r["A"], r["alg"], r["dtype"], r["threads"]))
        .collect();
    let expected = [
        "1x10 \"pg\" \"f64\" 1",
        "1x10 \"npg\" \"f64\" 1",
        "30x100 \"pg\" \"f64\" 1",
        "30x100 \"npg\" \"f64\" 1",
    ];
    assert_eq!(keys, expected);
    for result in results {
        assert!(result["steps_per_s"].as_f64().unwrap() > 0.0, "{result}");
        assert!(result["best_steps_per_s"].as_f64() >= result["steps_per_s"].as_f64(), "{result}");
    }
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    for (arguments, expected) in [
        (["--sizes", "0x3"], "expected states x actions"),
        (["--seconds", "nan"], "expected a finite number of seconds, 0 or more"),
        (["--seconds", "inf"], "expected a finite number of seconds, 0 or more"),
        (["--seconds=-1", "--sizes=1x2"], "expected a finite number of seconds, 0 or more"),
    ] {
        let output = softmax_sim(&[&["bench"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(expected), "{output:?}");
    }
}
