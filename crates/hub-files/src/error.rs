//! Errors of files that the hub or its cache should give.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why the files of a name are not there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HubError {
    /// The hub has no such repository, revision or file, or does not show it.
    #[error(
        "{name}: the hub answers {status}, expected a repository and revision that exist, and a token if it needs one (HF_TOKEN)"
    )]
    Refused {
        /// The name, or name and file.
        name: String,
        /// Status of the answer.
        status: u16,
    },
    /// Neither a directory, nor the cache, nor the hub has the name.
    #[error(
        "{name}: no directory here, not in the hub's cache {}, and {because}; expected a directory, or a name of the hub \
         (`hf download {name}` fills the cache where there is a network)",
        cache.display()
    )]
    Absent {
        /// The name.
        name: String,
        /// Directory of the cache.
        cache: PathBuf,
        /// Reason why the hub was not asked, or did not answer.
        because: String,
    },
    /// The cache has only a part of the files.
    #[error("{name}: the hub's cache {} lacks {missing}, and {because}", folder.display())]
    Incomplete {
        /// The name.
        name: String,
        /// Snapshot within the cache.
        folder: PathBuf,
        /// The first missing file.
        missing: String,
        /// Reason why the hub was not asked, or did not answer.
        because: String,
    },
    /// A download broke off, and so did further tries, or it brought another file than the hub lists.
    #[error("{name}: {file}: {problem}")]
    Download {
        /// The name.
        name: String,
        /// The file.
        file: String,
        /// Problem, and what is kept for the next start.
        problem: String,
    },
    /// The hub lacks the files that are needed or has too many candidates, or its answer cannot be used.
    #[error("{name}: {problem}")]
    Files {
        /// The name.
        name: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A file or directory of the cache cannot be read or written.
    #[error("{}: {source}", path.display())]
    Cache {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl HubError {
    /// Wraps an error of the system on a path of the cache.
    pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Cache { path, source }
    }
}
