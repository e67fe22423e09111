//! The command `softmax-sim reproduce`, and the page it prints into the documents.

mod outcome;
mod revision;
mod seeds;
mod store;
mod table;

use softmax_sim::reproduce::document::{page, read_published};
use softmax_sim::reproduce::finding::find;
use softmax_sim::reproduce::store::read_record;
use softmax_sim::reproduce::{FINDINGS, Verdict};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn reproduce(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_softmax-sim"))
        .arg("reproduce")
        .args(arguments)
        .output()
        .expect("the binary was built with the tests")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn a_finding_is_run_reported_and_not_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let arguments = ["lemma-1", "--quick", "--out", out.to_str().unwrap()];
    let first = reproduce(&arguments);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let row = text(&first.stdout).lines().nth(1).unwrap();
    assert!(row.starts_with("lemma-1") && row.contains("no verdict"), "{row}");
    assert!(text(&first.stderr).contains("lemma-1: no verdict in "), "{first:?}");

    let record = read_record(&out, "lemma-1").unwrap().unwrap();
    assert_eq!(record.outcome.verdict, Verdict::None);
    assert!(record.outcome.measures.iter().all(|measure| measure.met.is_none()));
    assert!(record.outcome.measures.iter().all(|measure| measure.values.len() == 3));
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    let finding = find("lemma-1").unwrap();
    for part in [&finding.words.title, &finding.words.target, &record.outcome.reason] {
        assert!(html.contains(part), "{part}");
    }
    for figure in &record.outcome.figures {
        let file = out.join("figures").join(format!("{}.svg", figure.chart.stem));
        assert!(fs::read_to_string(file).unwrap().starts_with("<svg"));
        assert!(html.contains(&format!("id=\"{}-title\"", figure.chart.stem)));
    }

    let second = reproduce(&arguments);
    assert!(text(&second.stdout).contains("  kept\n"), "{second:?}");
    assert!(second.stderr.is_empty(), "{second:?}");
    assert_eq!(read_record(&out, "lemma-1").unwrap().unwrap(), record);
    // The report gives the seconds the run took, and says that they are of before.
    let again = fs::read_to_string(out.join("report.html")).unwrap();
    for (part, times) in
        [(" (kept)</td>", 1), ("; kept from an earlier run.", 1), ("out of date", 0)]
    {
        assert_eq!((again.matches(part).count(), html.matches(part).count()), (times, 0), "{part}");
    }
}

#[test]
fn findings_are_listed_with_their_titles() {
    let listed = reproduce(&["--list"]);
    assert_eq!(listed.status.code(), Some(0));
    assert_eq!(text(&listed.stdout).lines().count(), FINDINGS.len());
    for (line, finding) in text(&listed.stdout).lines().zip(FINDINGS.iter()) {
        assert!(line.starts_with(finding.name) && line.ends_with(&finding.words.title), "{line}");
    }
}

#[test]
fn bad_arguments_end_with_2_and_are_named() {
    for (arguments, named) in [
        (&["lemma-7"][..], "expected one of collapse"),
        (&["--seeds", "2"], "2 is not in 3..=1000"),
        (&["--size", "1"], "--size"),
    ] {
        let output = reproduce(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{output:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_ends_with_2_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let output = reproduce(&["lemma-1", "--quick", "--out", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(file.to_str().unwrap()), "{output:?}");
}

#[test]
fn the_document_is_printed_from_the_findings_and_the_published_results() {
    let path = docs().join("reproduce.md");
    let printed = page(&FINDINGS, &read_published(&docs()).unwrap());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &printed).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap();
    assert!(current == printed, "docs/reproduce.md is out of date: UPDATE_DOCS=1 rewrites it");
}

#[test]
fn what_the_document_points_to_is_there() {
    let theory = fs::read_to_string(docs().join("theory.md")).unwrap();
    for finding in FINDINGS.iter() {
        for anchor in &finding.words.theory {
            assert!(theory.contains(&format!("<a id=\"{anchor}\">")), "{}: {anchor}", finding.name);
        }
    }
    for result in read_published(&docs()).unwrap() {
        if let Some(figure) = result.figure {
            assert!(docs().join(&figure.file).is_file(), "{}", figure.file);
        }
    }
}

#[test]
fn publishing_keeps_the_results_of_other_findings() {
    let folder = tempfile::tempdir().unwrap();
    let (out, docs) = (folder.path().join("out"), folder.path().join("docs"));
    let (out, docs_text) = (out.to_str().unwrap(), docs.to_str().unwrap());
    let publish = || reproduce(&["lemma-1", "--quick", "--out", out, "--docs", docs_text]);
    assert_eq!(publish().status.code(), Some(0));
    let results = read_published(&docs).unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(fs::read_to_string(docs.join("reproduce.md")).unwrap(), page(&FINDINGS, &results));
    assert!(docs.join(&results[0].figure.as_ref().unwrap().file).is_file());
    assert_eq!(publish().status.code(), Some(0));
    assert_eq!(read_published(&docs).unwrap(), results);
}
