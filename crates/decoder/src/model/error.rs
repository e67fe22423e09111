//! Errors of reading a model.

use model_files::model_config::{ModelConfigError, NotDivisibleError};
use thiserror::Error;

use crate::tensor_file::TensorFileError;
use ranks::RankError;

/// Reason that a model could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// `config.json` is invalid.
    #[error(transparent)]
    Config(#[from] ModelConfigError),
    /// A weight file or an adapter is invalid, or the adapter has parts that the model takes none of.
    #[error(transparent)]
    Weights(#[from] TensorFileError),
    /// The model cannot be split over so many ranks.
    #[error(transparent)]
    NotDivisible(#[from] NotDivisibleError),
    /// Not all tensor-parallel ranks take part.
    #[error("{0}")]
    Ranks(#[from] RankError),
}
