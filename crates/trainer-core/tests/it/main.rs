//! Behaviour of the torch-free half of the trainer, through its public interface.

mod browser;
mod chat_template;
mod code_tasks;
mod config;
mod config_errors;
mod data_check;
mod dataset;
mod disk;
mod documents;
mod dynamic_sampling;
mod evaluation;
mod gguf;
mod inspect;
mod metrics;
mod plan;
mod preflight;
mod presets;
mod prompt;
mod report;
mod row_layouts;
mod row_rules;
mod saved_rollouts;
mod stop_strings;
mod tensorboard;
mod text_tokenizer;

use std::path::{Path, PathBuf};

/// A file of `tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A new folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).expect("the folder can be written");
    }
    folder
}

/// The message of an error, with the temporary folder's name left out.
fn message<T>(result: Result<T, impl std::error::Error>, folder: &Path) -> String {
    let error = result.err().expect("this must fail");
    error.to_string().replace(&folder.display().to_string(), "DIR")
}
