//! What can be wrong with a model.

use std::path::PathBuf;

use thiserror::Error;
use trainer_core::model_config::ModelConfigError;

use crate::tensor_file::TensorFileError;

/// Why a model could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// `config.json` is at fault.
    #[error(transparent)]
    Config(#[from] ModelConfigError),
    /// A weight file is at fault.
    #[error(transparent)]
    Weights(#[from] TensorFileError),
    /// The model cannot be cut over so many ranks.
    #[error(
        "`{field}` is {found}, expected a multiple of parallel.tensor = {parts} for a model that is cut over so many ranks"
    )]
    Uncut {
        /// Of `config.json`.
        field: &'static str,
        /// What is counted there.
        found: usize,
        /// Ranks that hold the model together.
        parts: usize,
    },
    /// The output projections of attention have biases, which no rank would add alone.
    #[error(
        "parallel.tensor is {parts}, expected 1 for a model with biases in the output projections of attention"
    )]
    OutputBias {
        /// Ranks that hold the model together.
        parts: usize,
    },
    /// An adapter is trained whole.
    #[error("{path}: holds an adapter, expected a whole model with parallel.tensor above 1")]
    Adapter {
        /// The directory.
        path: PathBuf,
    },
}
