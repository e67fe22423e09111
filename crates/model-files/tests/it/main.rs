//! A model's directory beside its weights, through the public interface.

mod chat_template;
mod fuzz;
mod stop_strings;
mod text_tokenizer;

use std::path::{Path, PathBuf};

/// A file of `tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
