//! Errors of files that the hub or its cache should give.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reason why the files of a name are not there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HubError {
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
        /// Why the hub was not asked, or did not answer.
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
        /// Why the hub was not asked, or did not answer.
        because: String,
    },
    /// The hub has no such repository or revision, or does not show it.
    #[error(
        "{name}: the hub answers {status}, expected a repository and revision that exist, and a token if it needs one (HF_TOKEN)"
    )]
    Refused {
        /// The name.
        name: String,
        /// Status of the answer.
        status: u16,
    },
    /// The answer of the hub cannot be used, or the repository lacks the files that are needed, or has too many candidates.
    #[error("{name}: {problem}")]
    Files {
        /// The name.
        name: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A download broke off, and so did further tries; or its file is not the one that the hub lists.
    #[error("{name}: {file}: {problem}")]
    Download {
        /// The name.
        name: String,
        /// The file.
        file: String,
        /// Problem, and what is kept of the file.
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
    pub(crate) fn of(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Cache { path, source }
    }
}
