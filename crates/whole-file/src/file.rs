//! Files that are either complete or absent.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::FileError;

/// Writes `bytes` to `path`, completely or not at all.
///
/// # Errors
///
/// [`FileError`], naming the file; the temporary file is removed and `path` is unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_atomically_with(path, |file| file.write_all(bytes))
}

/// Like [`write_atomically`], for content that is streamed.
///
/// # Errors
///
/// [`FileError`], also if `write` itself fails, or `path` is a device, a pipe or a folder; the temporary file is removed and `path` is
/// unchanged.
pub fn write_atomically_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FileError> {
    let place = || {
        // Renaming would replace `/dev/null` itself.
        if path.file_name().is_some() && path.metadata().is_ok_and(|data| !data.is_file()) {
            let expected = "there is something other than a file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, expected));
        }
        aside(path, write)?.persist(path).map_err(|error| error.error)
    };
    place().map_err(FileError::of(path, "write"))?;
    sync_folder_of(path)
}

/// Writes a file unless it exists; returns true if this call wrote it.
///
/// If several processes write the file at once, exactly one gets true.
///
/// # Errors
///
/// See [`write_atomically`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    let place = || match aside(path, |file| file.write_all(bytes))?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    };
    let is_new = place().map_err(FileError::of(path, "write"))?;
    if is_new {
        sync_folder_of(path)?;
    }
    Ok(is_new)
}

/// Creates a temporary file beside `path`, lets `write` fill it, and flushes it to the disk.
///
/// It is removed unless it is persisted. Its name is unique, so that several processes may write the same file.
fn aside(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    if path.file_name().is_none() {
        let expected = "expected a path that ends in a file name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, expected));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".partial");
    // The file gets the usual permissions, as the files around it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder_of(path))?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    Ok(file)
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the directory entries of a folder to the disk; `fsync` of a file does not.
///
/// # Errors
///
/// The system's error.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all())
}

pub(crate) fn sync_folder_of(path: &Path) -> Result<(), FileError> {
    sync_folder(folder_of(path)).map_err(FileError::of(path, "flush the folder of"))
}
