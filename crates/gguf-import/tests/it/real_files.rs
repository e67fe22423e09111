//! The two published models, where they have been fetched: every tensor against recorded sums, both
//! tokenizers against recorded ids. What is absent is said.

use std::path::{Path, PathBuf};

use gguf_import::{GgufFile, ImportOptions, import};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

struct Model {
    directory: &'static str,
    gguf: &'static str,
    sums: &'static str,
    ids: &'static str,
    sha256: &'static str,
}

const SMOLLM2: Model = Model {
    directory: "SmolLM2-135M-Instruct",
    gguf: "SmolLM2-135M-Instruct.Q4_1.gguf",
    sums: "gguf_sums_smollm2-135m.json",
    ids: "smollm2",
    sha256: "93bc5825828ecfde497f513838f20551c09cb703b855314a66210fe7106d6e19",
};

const QWEN: Model = Model {
    directory: "Qwen2.5-Coder-0.5B-Instruct",
    gguf: "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    sums: "gguf_sums_qwen25-coder-0.5b.json",
    ids: "qwen25",
    sha256: "e4b293452bbe7cc24428f08101b496d5b3a641a59b5bef23a2a88b1336d84878",
};

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// `name` in `$MODELS_DIR`, `models/` or `.downloads/`.
fn fetched(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("MODELS_DIR").map(PathBuf::from);
    let usual = [crate_path("../../models"), crate_path("../../.downloads")];
    let found =
        named.into_iter().chain(usual).map(|home| home.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("absent: {name} (docs/models.md says how to fetch it); nothing checked here");
    }
    found
}

fn recorded(name: &str) -> Value {
    let bytes = std::fs::read(crate_path("tests/data").join(name)).expect("recorded values");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// Numbers as the `f32` they were recorded from; their decimals are longer than that needs.
#[expect(clippy::cast_possible_truncation, reason = "recorded from f32")]
fn single(numbers: &Value) -> Vec<f32> {
    let numbers = numbers.as_array().map_or(std::slice::from_ref(numbers), Vec::as_slice);
    numbers.iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn check_tensors(model: &Model) {
    let Some(path) = fetched(model.gguf) else { return };
    let gguf = GgufFile::open(&path).expect("a whole file");
    let rows = recorded(model.sums);
    let rows = rows.as_array().expect("a list");
    assert_eq!(gguf.tensors().len(), rows.len());
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        let tensor = gguf.tensor(name).expect("the tensor");
        assert_eq!(tensor.format.name(), row["type"], "{name}");
        let (mut digest, mut first, mut largest) = (Sha256::new(), Vec::<f32>::new(), 0.0_f32);
        gguf.read_elements(tensor, |elements| {
            first.extend(elements.iter().take(8 - first.len()));
            for element in elements {
                largest = largest.max(element.abs());
                digest.update(element.to_le_bytes());
            }
            Ok(())
        })
        .expect("readable");
        assert_eq!(first, single(&row["first8"]), "{name}");
        assert_eq!([largest][..], single(&row["absmax"]), "{name}");
        assert_eq!(format!("{:x}", digest.finalize()), row["sha256_f32le"], "{name}");
    }
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
    let vectors = recorded("tokenizer_vectors.json");
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
