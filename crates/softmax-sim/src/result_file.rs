//! Files of results, in folders that are made if need be, and errors that name them.

use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that could not be read or written.
#[derive(Debug, Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    path: PathBuf,
    action: &'static str,
    source: io::Error,
}

impl FileError {
    /// The error of doing `action` to `path`.
    pub fn of(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, action, source }
    }
}

impl From<whole_file::FileError> for FileError {
    fn from(whole_file::FileError { path, action, source }: whole_file::FileError) -> Self {
        Self { path, action, source }
    }
}

/// Reads a file; none if it is not there.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(FileError::of(path, "read")),
    }
}

/// Writes a file as a whole, or replaces it, in a folder that is made if need be.
///
/// # Errors
///
/// [`FileError`], naming the file, which is then as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    make_folder_of(path)?;
    Ok(whole_file::write_atomically(path, bytes)?)
}

/// Writes `value` as JSON for people, by [`write_whole`].
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let json = serde_json::to_string_pretty(value)
        .map_err(|error| FileError::of(path, "write")(error.into()))?;
    write_whole(path, format!("{json}\n").as_bytes())
}

/// Writes a file that is not there yet, in a folder that is made if need be; whether it was not.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    make_folder_of(path)?;
    Ok(whole_file::write_new(path, bytes)?)
}

fn make_folder_of(path: &Path) -> Result<(), FileError> {
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(FileError::of(path, "write"))
}
