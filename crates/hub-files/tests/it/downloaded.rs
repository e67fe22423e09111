//! Downloads: whole and checked, or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use hub_files::{Hub, ModelParts};
use model_files::hub_name::{HubName, Snapshot};
use whole_file::FileError;

use crate::server::{COMMIT, Fault, Server};

/// Longer than any buffer of a connection.
fn weights() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

fn model(server: &Server, cache: &Path) -> Result<Snapshot, FileError> {
    let hub = Hub::new(cache.to_path_buf(), Some(&server.endpoint));
    hub.model(&HubName::parse("o/n").expect("the test goes on"), None, ModelParts::All, &|_| {})
}

fn served(fault: Option<(&str, Fault)>) -> Server {
    let weights = weights();
    let files: [(&str, &[u8], bool); 6] = [
        ("README.md", b"no part of a model", false),
        ("config.json", b"{}", false),
        ("tokenizer.json", b"{ }", false),
        ("model.safetensors", &weights, true),
        ("pytorch_model.bin", b"a copy", true),
        ("onnx/config.json", b"a copy", false),
    ];
    Server::start("models", &files, fault)
}

/// Files below a directory, links followed.
fn files(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    all.sort();
    all
}

#[test]
fn a_model_is_downloaded_once_and_is_then_there_without_a_network() {
    let (cache, server) = (tempfile::tempdir().unwrap(), served(None));
    let snapshot = model(&server, cache.path()).unwrap();
    assert_eq!(snapshot.commit, COMMIT);
    assert_eq!(fs::read(snapshot.folder.join("model.safetensors")).unwrap(), weights());
    let names: Vec<_> = files(&snapshot.folder)
        .into_iter()
        .map(|path| path.strip_prefix(&snapshot.folder).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["config.json", "model.safetensors", "tokenizer.json"].map(PathBuf::from));
    assert_eq!(server.asked().len(), 4, "the listing, and three files");
    assert_eq!(model(&server, cache.path()).unwrap(), snapshot);
    assert_eq!(server.asked(), ["/api/models/o/n/revision/main?blobs=true"]);
    let hub = Hub::new(cache.path().to_path_buf(), Some(&server.endpoint));
    let name = HubName::parse("o/n").unwrap();
    assert_eq!(hub.model(&name, Some(COMMIT), ModelParts::All, &|_| {}).unwrap(), snapshot);
    assert!(server.asked().is_empty(), "a commit never changes");
    let alone = Hub::new(cache.path().to_path_buf(), None);
    assert_eq!(alone.model(&name, None, ModelParts::All, &|_| {}).unwrap(), snapshot);
}

#[test]
fn a_broken_connection_is_taken_up_where_it_broke_off() {
    let cache = tempfile::tempdir().unwrap();
    let server = served(Some(("model.safetensors", Fault::BreaksOff(100_000, 1))));
    let snapshot = model(&server, cache.path()).unwrap();
    assert_eq!(fs::read(snapshot.folder.join("model.safetensors")).unwrap(), weights());
    let asked = server.asked();
    assert!(asked.iter().any(|path| path.ends_with("/model.safetensors from 100000")), "{asked:?}");
}

#[test]
fn an_interrupted_download_leaves_no_file_of_the_model() {
    let cache = tempfile::tempdir().unwrap();
    let server = served(Some(("model.safetensors", Fault::BreaksOff(1000, 3))));
    let error = model(&server, cache.path()).unwrap_err().to_string();
    assert!(
        error.starts_with("o/n: model.safetensors: the download broke off after 3000 bytes: "),
        "{error}"
    );
    let snapshot = cache.path().join("models--o--n/snapshots").join(COMMIT);
    assert!(!snapshot.join("model.safetensors").exists());
    let alone = Hub::new(cache.path().to_path_buf(), None);
    let name = HubName::parse(&format!("o/n@{COMMIT}")).unwrap();
    let error = alone.model(&name, None, ModelParts::All, &|_| {}).unwrap_err().to_string();
    assert!(error.contains(" lacks model.safetensors, and the hub is not asked"), "{error}");
    // The next start takes up the rest.
    server.asked();
    model(&server, cache.path()).unwrap();
    assert!(server.asked().iter().any(|path| path.ends_with("/model.safetensors from 3000")));
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights());
}

#[test]
fn a_file_of_another_length_or_checksum_is_refused_and_removed() {
    for (fault, expected) in [
        (Fault::OtherBytes, "its SHA-256 is "),
        (Fault::Longer, "the file is longer than 1200000 bytes"),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let server = served(Some(("model.safetensors", fault)));
        let error = model(&server, cache.path()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("o/n: model.safetensors: {expected}")), "{error}");
        let left = files(&cache.path().join("models--o--n/blobs"));
        assert!(left.iter().all(|path| fs::metadata(path).unwrap().len() < 10), "{left:?}");
        assert!(!cache.path().join("models--o--n/refs/main").exists());
    }
}

#[test]
fn a_start_of_other_bytes_is_found_out_and_downloaded_again() {
    let (cache, server) = (tempfile::tempdir().unwrap(), served(None));
    let snapshot = model(&server, cache.path()).unwrap();
    let blob = fs::canonicalize(snapshot.folder.join("model.safetensors")).unwrap();
    fs::remove_file(&blob).unwrap();
    fs::write(blob.with_extension("incomplete"), [7; 5000]).unwrap();
    let again = model(&server, cache.path()).unwrap();
    assert_eq!(fs::read(again.folder.join("model.safetensors")).unwrap(), weights());
}

#[test]
fn a_name_that_the_hub_does_not_have_is_refused_in_one_line() {
    let (cache, server) = (tempfile::tempdir().unwrap(), served(None));
    let hub = Hub::new(cache.path().to_path_buf(), Some(&server.endpoint));
    let name = HubName::parse("o/n@v9").unwrap();
    let error = hub.model(&name, None, ModelParts::All, &|_| {}).unwrap_err().to_string();
    let expected = "o/n@v9: the hub answers 404, expected a repository and revision that exist, and a token if it needs \
                    one (HF_TOKEN)";
    assert_eq!(error, expected);
}

#[test]
fn of_a_data_set_only_the_split_is_downloaded() {
    let rows: &[u8] = b"{\"question\": \"1+1\", \"answer\": \"2\"}\n";
    let files = [("main/train.jsonl", rows, false), ("main/test.jsonl", rows, true)];
    let (cache, server) = (tempfile::tempdir().unwrap(), Server::start("datasets", &files, None));
    let hub = Hub::new(cache.path().to_path_buf(), Some(&server.endpoint));
    let name = HubName::parse("o/n:main/test").unwrap();
    let snapshot = hub.data_set(&name, None, &|_| {}).unwrap();
    assert_eq!(snapshot.files, [snapshot.folder.join("main/test.jsonl")]);
    assert_eq!(fs::read(&snapshot.files[0]).unwrap(), rows);
    let listing = "/api/datasets/o/n/revision/main?blobs=true".to_owned();
    let file = format!("/datasets/o/n/resolve/{COMMIT}/main/test.jsonl");
    assert_eq!(server.asked(), [listing, file]);
}
