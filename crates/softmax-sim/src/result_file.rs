//! Files of results, in folders that are made if need be, and errors that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use whole_file::WriteError;

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

impl From<WriteError> for FileError {
    fn from(WriteError { path, source, .. }: WriteError) -> Self {
        Self { path, action: "write", source }
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

/// Writes a file that is not there yet, in a folder that is made if need be; whether it was not.
///
/// # Errors
///
/// [`FileError`], naming the file.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    make_folder_of(path)?;
    Ok(whole_file::write_new(path, bytes)?)
}

fn make_folder_of(path: &Path) -> Result<(), FileError> {
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(FileError::of(path, "write"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/on/the/way.txt");
        write_whole(&path, b"old and longer").unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_named_and_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verify.json");
        fs::create_dir(&path).unwrap();
        let error = write_whole(&path, b"x").unwrap_err();
        assert_eq!(error.to_string(), format!("cannot write {}", path.display()));
        assert!(error.source().is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }
}
