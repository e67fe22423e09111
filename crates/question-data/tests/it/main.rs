//! Questions of files and made-up ones, through the public interface.

mod data_check;
mod dataset;
mod fuzz;
mod hostile;
mod prompt;
mod row_layouts;
mod row_rules;

use std::path::{Path, PathBuf};

use question_data::dataset as data_sets;
use question_data::dataset::{QuestionFile, QuestionSet};
use question_data::ground_truth::RewardKinds;
use whole_file::FileError;

/// A file of `tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A model's directory without weights: that of the tests of `model-files`.
fn tiny_model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model-files/tests/data/tiny_qwen2")
}

/// Reads questions of mathematics.
fn read_questions(file: &QuestionFile) -> Result<QuestionSet, FileError> {
    data_sets::read_questions(file, &RewardKinds::default())
}
