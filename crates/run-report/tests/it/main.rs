//! What a person sees of a run, through the public interface.

mod browser;
mod documents;
mod evaluation;
mod inspect;
mod report;
mod tensorboard;

use std::path::{Path, PathBuf};

/// A file of `tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
