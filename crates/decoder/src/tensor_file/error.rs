//! Errors of reading tensors.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reason that tensors could not be read from a file or a directory of them.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorFileError {
    /// The directory holds no weights.
    #[error(
        "{}: no weights found, expected model.safetensors or model.safetensors.index.json",
        directory.display()
    )]
    NoFile {
        /// The directory.
        directory: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is malformed.
    #[error("{}: {found}, expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Fault of the file.
        found: String,
        /// Expected content.
        expected: String,
    },
    /// A file ends before a tensor does.
    #[error("{}: truncated: tensor `{tensor}` ends at byte {expected}, the file at {found}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Byte after the tensor's last, required.
        expected: u64,
        /// Length of the file in bytes.
        found: u64,
    },
    /// A requested tensor is missing.
    #[error("{}: tensor `{tensor}` is missing, expected shape {expected:?}", path.display())]
    Missing {
        /// The file, or the directory of shards.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its shape.
        expected: Vec<i64>,
    },
    /// A tensor has another shape than in the model.
    #[error("{}: tensor `{tensor}` has shape {found:?}, expected {expected:?}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Shape in the file.
        found: Vec<u64>,
        /// Shape in the model.
        expected: Vec<i64>,
    },
    /// A tensor has an unsupported kind.
    #[error("{}: tensor `{tensor}` is {found}, expected {expected}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Kind in the file.
        found: String,
        /// Supported kinds.
        expected: String,
    },
    /// A tensor contains NaN or infinite values.
    #[error("{}: tensor `{tensor}` has {count} values that are not finite, expected none", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Number of NaN or infinite values.
        count: u64,
    },
    /// A tensor that the model does not have: loading without it would misread the file.
    #[error("{}: tensor `{tensor}` has no place in {whole}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The model or file that does not have it.
        whole: String,
    },
}
