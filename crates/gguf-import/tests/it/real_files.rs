//! The two published models, if they were fetched: every tensor against recorded sums, both tokenizers against recorded
//! ids. An absent model is reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gguf_import::{GgufFile, ImportOptions, import};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

struct Model {
    directory: &'static str,
    gguf: &'static str,
    ids: &'static str,
    sha256: &'static str,
}

const SMOLLM2: Model = Model {
    directory: "SmolLM2-135M-Instruct",
    gguf: "SmolLM2-135M-Instruct.Q4_1.gguf",
    ids: "smollm2",
    sha256: "93bc5825828ecfde497f513838f20551c09cb703b855314a66210fe7106d6e19",
};

const QWEN: Model = Model {
    directory: "Qwen2.5-Coder-0.5B-Instruct",
    gguf: "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    ids: "qwen25",
    sha256: "e4b293452bbe7cc24428f08101b496d5b3a641a59b5bef23a2a88b1336d84878",
};

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Path of `name` in `$MODELS_DIR`, `models/` or `.downloads/`.
fn fetched(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("MODELS_DIR").map(PathBuf::from);
    let usual = [crate_path("../../models"), crate_path("../../.downloads")];
    let model_path =
        named.into_iter().chain(usual).map(|home| home.join(name)).find(|path| path.exists());
    if model_path.is_none() {
        eprintln!("absent: {name} (docs/data.md says how to fetch it); nothing checked here");
    }
    model_path
}

/// Maps each block, or tensor outside of the blocks, to its tensor count and a SHA-256.
///
/// The digest is over sorted lines `name format sha256`, one for each tensor's elements as little-endian `f32`.
fn sums_of(gguf: &GgufFile) -> BTreeMap<String, (usize, String)> {
    let mut lines = BTreeMap::<String, Vec<String>>::new();
    for tensor in gguf.tensors() {
        let mut digest = Sha256::new();
        gguf.read_elements(tensor, |elements| {
            for element in elements {
                digest.update(element.to_le_bytes());
            }
            Ok(())
        })
        .expect("readable");
        let line = format!("{} {} {:x}\n", tensor.name, tensor.format.name(), digest.finalize());
        lines.entry(group_of(&tensor.name)).or_default().push(line);
    }
    let sum = |mut lines: Vec<String>| {
        lines.sort();
        (lines.len(), format!("{:x}", Sha256::digest(lines.concat())))
    };
    lines.into_iter().map(|(group, lines)| (group, sum(lines))).collect()
}

/// Returns `blk.7` for `blk.7.ffn_up.weight`; a tensor outside of the blocks is its own group.
fn group_of(name: &str) -> String {
    match name.split('.').collect::<Vec<_>>()[..] {
        ["blk", number, ..] => format!("blk.{number}"),
        _ => name.to_owned(),
    }
}

fn check_tensors(model: &Model) {
    let Some(path) = fetched(model.gguf) else { return };
    let text = std::fs::read_to_string(crate_path("tests/data/tensor_sums.txt"));
    let text = text.expect("recorded values");
    let recorded = text.lines().filter_map(|line| {
        let [directory, group, count, sum] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line:?}: expected a directory, a group, a count and a sum");
        };
        let count = count.parse().expect("a count");
        (directory == model.directory).then(|| (group.to_owned(), (count, sum.to_owned())))
    });
    let recorded: BTreeMap<_, _> = recorded.collect();
    assert!(!recorded.is_empty());
    assert_eq!(sums_of(&GgufFile::open(&path).expect("a whole file")), recorded);
}

fn check_import(model: &Model) {
    let Some(path) = fetched(model.gguf) else { return };
    let home = tempfile::tempdir().expect("a temporary directory");
    let out = home.path().join(model.directory);
    let summary = import(&path, &out, &ImportOptions::default(), &mut |_| {}).expect("imported");
    assert_eq!(summary.sha256, model.sha256);
    assert!(summary.tied);
    check_ids(model, &out);
}

fn check_ids(model: &Model, directory: &Path) {
    let tokenizer = Tokenizer::from_file(directory.join("tokenizer.json")).expect("a tokenizer");
    let bytes = std::fs::read(crate_path("tests/data/tokenizer_vectors.json"));
    let bytes = bytes.expect("recorded ids");
    let vectors: Value = serde_json::from_slice(&bytes).expect("JSON");
    let rows = vectors["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 98);
    for row in rows {
        let text = row["text"].as_str().expect("a text");
        let encoding = tokenizer.encode(text, false).expect("encodable");
        assert_eq!(serde_json::json!(encoding.get_ids()), row[model.ids], "{text:?}");
    }
}

#[test]
fn smollm2_tensors_equal_the_reference() {
    check_tensors(&SMOLLM2);
}

#[test]
fn qwen_tensors_equal_the_reference() {
    check_tensors(&QWEN);
}

#[test]
fn smollm2_imports_to_the_recorded_bytes_and_ids() {
    check_import(&SMOLLM2);
}

#[test]
fn qwen_imports_to_the_recorded_bytes_and_ids() {
    check_import(&QWEN);
}

#[test]
fn the_imported_directories_give_the_recorded_ids() {
    for model in [&SMOLLM2, &QWEN] {
        if let Some(directory) = fetched(model.directory) {
            check_ids(model, &directory);
        }
    }
}
