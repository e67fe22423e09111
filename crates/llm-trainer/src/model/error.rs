//! What can be wrong with a model.

use model_files::model_config::{ModelConfigError, UncutError};
use thiserror::Error;

use crate::ranks::RankError;
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
    #[error(transparent)]
    Uncut(#[from] UncutError),
    /// The ranks that hold the model together do not all come.
    #[error("{0}")]
    Ranks(#[from] RankError),
}
