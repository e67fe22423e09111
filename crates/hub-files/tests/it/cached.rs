//! Without a network: the cache alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use hub_files::{Hub, ModelParts};
use model_files::hub_name::HubName;

const COMMIT: &str = "c1899de289a04d12100db370d81485cdf75e47ca";

/// Writes a repository as `huggingface_hub` does: contents in `blobs`, and links to them.
fn fill(cache: &Path, repository: &str, files: &[&str]) {
    let root = cache.join(repository);
    for folder in ["blobs", "refs"] {
        fs::create_dir_all(root.join(folder)).expect("the test goes on");
    }
    fs::write(root.join("refs/main"), COMMIT).expect("the test goes on");
    for (number, file) in files.iter().enumerate() {
        let link = root.join("snapshots").join(COMMIT).join(file);
        fs::create_dir_all(link.parent().expect("the test goes on")).expect("the test goes on");
        fs::write(root.join(format!("blobs/{number}")), file).expect("the test goes on");
        let up = "../".repeat(file.matches('/').count() + 2);
        symlink(format!("{up}blobs/{number}"), link).expect("the test goes on");
    }
}

fn name(text: &str) -> HubName {
    HubName::parse(text).expect("the test goes on")
}

#[test]
fn a_model_in_the_cache_is_taken_without_a_network() {
    let cache = tempfile::tempdir().unwrap();
    let files = ["config.json", "tokenizer.json", "model.safetensors"];
    fill(cache.path(), "models--Qwen--Qwen3-0.6B", &files);
    let folder = cache.path().join("models--Qwen--Qwen3-0.6B/snapshots").join(COMMIT);
    let unreachable = Some("http://127.0.0.1:1");
    for endpoint in [None, unreachable] {
        let hub = Hub::new(cache.path().to_path_buf(), endpoint);
        for text in
            ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B@main", &format!("Qwen/Qwen3-0.6B@{COMMIT}")]
        {
            let snapshot = hub.model(&name(text), None, ModelParts::All, &|_| {}).unwrap();
            assert_eq!((&*snapshot.commit, &snapshot.folder), (COMMIT, &folder), "{text}");
        }
    }
}

#[test]
fn the_commit_of_a_run_goes_before_the_branch() {
    let cache = tempfile::tempdir().unwrap();
    fill(cache.path(), "models--o--n", &["config.json"]);
    let later = "d".repeat(40);
    let root = cache.path().join("models--o--n");
    fs::create_dir_all(root.join("snapshots").join(&later)).unwrap();
    fs::write(root.join("snapshots").join(&later).join("config.json"), "{}").unwrap();
    fs::write(root.join("refs/main"), &later).unwrap();
    let hub = Hub::new(cache.path().to_path_buf(), None);
    let commit =
        |pin| hub.model(&name("o/n"), pin, ModelParts::Description, &|_| {}).unwrap().commit;
    assert_eq!(commit(None), later);
    assert_eq!(commit(Some(COMMIT)), COMMIT);
}

#[test]
fn the_files_of_a_split_are_taken_in_order() {
    let cache = tempfile::tempdir().unwrap();
    let shards = ["data/train-00001-of-00002.parquet", "data/train-00000-of-00002.parquet"];
    fill(
        cache.path(),
        "datasets--o--n",
        &[shards[0], shards[1], "data/test-00000-of-00001.parquet"],
    );
    let hub = Hub::new(cache.path().to_path_buf(), None);
    let snapshot = hub.data_set(&name("o/n:train"), None, &|_| {}).unwrap();
    let expected = [shards[1], shards[0]].map(|shard| snapshot.folder.join(shard));
    assert_eq!(snapshot.files, expected);
}

#[test]
fn a_line_says_what_neither_the_cache_nor_the_hub_has() {
    let cache = tempfile::tempdir().unwrap();
    fill(cache.path(), "models--o--half", &["config.json", "tokenizer.json"]);
    fs::write(
        cache.path().join("models--o--half/snapshots").join(COMMIT).join("model.safetensors.index.json"),
        r#"{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}"#,
    )
    .unwrap();
    fill(cache.path(), "datasets--o--half", &["train-00000-of-00002.parquet"]);
    let problem = |endpoint: Option<&str>, text: &str, is_model: bool| {
        let hub = Hub::new(cache.path().to_path_buf(), endpoint);
        let outcome = if is_model {
            hub.model(&name(text), None, ModelParts::All, &|_| {})
        } else {
            hub.data_set(&name(text), None, &|_| {})
        };
        outcome.unwrap_err().to_string().replace(&cache.path().display().to_string(), "CACHE")
    };
    let offline = "the hub is not asked (HF_HUB_OFFLINE)";
    assert_eq!(
        problem(None, "o/absent", true),
        format!(
            "o/absent: no directory here, not in the hub's cache CACHE, and {offline}; expected a directory, or a name \
             of the hub (`hf download o/absent` fills the cache where there is a network)"
        )
    );
    let unreachable = problem(Some("http://127.0.0.1:1"), "o/absent", true);
    assert!(unreachable.contains("and the hub cannot be reached: "), "{unreachable}");
    assert_eq!(unreachable.lines().count(), 1);
    assert_eq!(
        problem(None, "o/half", true),
        format!(
            "o/half: the hub's cache CACHE/models--o--half/snapshots/{COMMIT} lacks model-00001-of-00002.safetensors, \
             and {offline}"
        )
    );
    assert_eq!(
        problem(None, "o/half", false),
        format!(
            "o/half: the hub's cache CACHE/datasets--o--half/snapshots/{COMMIT} lacks train-00001-of-00002, and {offline}"
        )
    );
    assert_eq!(
        problem(None, "o/half:test", false),
        format!(
            "o/half:test: \"test\" is not one split, expected :train in the hub's cache, and {offline}"
        )
    );
    assert_eq!(
        problem(None, "o/half:main", true),
        "o/half:main: has the part \"main\", expected a model without one"
    );
}
