//! Views of a run for people, tested through the public interface.

mod browser;
mod documents;
mod evaluation;
mod export;
mod fuzz;
mod inspect;
mod report;
mod run_law;
mod study;
mod tensorboard;

use std::path::{Path, PathBuf};

/// Path of a file in `tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
