//! Results on disk: one file per finding, complete or absent.

use std::fs;

use softmax_sim::reproduce::run_cache::CachedShare;
use softmax_sim::reproduce::store::{PROGRAM, Record, read_record, record_path, write_record};
use softmax_sim::reproduce::{ExperimentResult, FINDINGS, Finding, Scale, Setting};

fn lemma_1() -> &'static Finding {
    FINDINGS.iter().find(|finding| finding.name == "lemma-1").expect("it is registered")
}

fn record() -> Record {
    Record {
        finding: "lemma-1".to_owned(),
        program: PROGRAM.to_owned(),
        setting: Setting { scale: Scale::Quick, seed: 7, seeds: 3 },
        revision: lemma_1().revision(),
        seconds: 0.5,
        kept: CachedShare::default(),
        outcome: ExperimentResult::new(vec![]),
    }
}

#[test]
fn a_record_comes_back_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write_record(folder.path(), &record()).unwrap();
    write_record(folder.path(), &record()).unwrap();
    assert_eq!(read_record(folder.path(), "lemma-1").unwrap(), Some(record()));
    assert_eq!(fs::read_dir(folder.path().join("findings")).unwrap().count(), 1);
}

#[test]
fn a_torn_or_foreign_file_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    write_record(folder.path(), &record()).unwrap();
    let path = record_path(folder.path(), "lemma-1");
    fs::copy(&path, record_path(folder.path(), "theorem-1")).unwrap();
    assert_eq!(read_record(folder.path(), "theorem-1").unwrap(), None);
    let half = fs::read_to_string(&path).unwrap();
    fs::write(&path, &half[..half.len() / 2]).unwrap();
    assert_eq!(read_record(folder.path(), "lemma-1").unwrap(), None);
    assert_eq!(read_record(folder.path(), "nothing").unwrap(), None);
}

#[test]
fn another_revision_is_not_current() {
    let (record, finding) = (record(), lemma_1());
    assert!(record.is_of(finding));
    let changed = Finding { sources: &["another page of code"], ..finding.clone() };
    assert!(!record.is_of(&changed));
    let renumbered = Record { program: "softmax-sim 9.0.0".to_owned(), ..record.clone() };
    assert!(renumbered.is_of(finding), "a version changes no result");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("findings"), "a file").unwrap();
    let error = write_record(folder.path(), &record()).unwrap_err();
    assert!(error.to_string().contains("lemma-1.json"), "{error}");
}
