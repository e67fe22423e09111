//! Why tensors could not be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why tensors could not be read from a file or a directory of them.
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
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("{}: {found}, expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// A file ends before a tensor does.
    #[error("{}: truncated: tensor `{tensor}` ends at byte {expected}, the file at {found}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Byte after the tensor's last.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
    /// A tensor that is asked for is not there.
    #[error("{}: tensor `{tensor}` is missing, expected shape {expected:?}", path.display())]
    Missing {
        /// The file, or the directory of shards.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its shape.
        expected: Vec<i64>,
    },
    /// A tensor has another shape than the model.
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
    /// A tensor of a kind that is not read here.
    #[error("{}: tensor `{tensor}` is {found}, expected {expected}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Kind in the file.
        found: String,
        /// Kinds that are read.
        expected: String,
    },
    /// A tensor holds values that no arithmetic survives.
    #[error("{}: tensor `{tensor}` has {count} values that are not finite, expected none", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// How many are NaN or infinite.
        count: u64,
    },
    /// A tensor that the model has no place for: it would not be what the file means.
    #[error("{}: tensor `{tensor}` has no place in {whole}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// What it has no place in.
        whole: String,
    },
}
