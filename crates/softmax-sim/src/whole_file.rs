//! Files that are there as a whole or not at all, whenever the process or the machine stops.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
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

/// Writes a file, or replaces it, in a folder that is made if need be.
///
/// # Errors
///
/// [`FileError`], naming the file, which is then as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let write = || {
        let (file, folder) = aside(path, bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        sync_folder(folder)
    };
    write().map_err(FileError::of(path, "write"))
}

/// Writes a file that is not there yet, in a folder that is made if need be; whether it was not.
///
/// Of several processes that do so at once, one is told that it has written it.
///
/// # Errors
///
/// [`FileError`], naming the file.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    let write = || {
        let (file, folder) = aside(path, bytes)?;
        match file.persist_noclobber(path) {
            Ok(_) => sync_folder(folder).map(|()| true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    };
    write().map_err(FileError::of(path, "write"))
}

/// The bytes, on the disk, in a file beside `path` that goes when it is not put in its place; and the folder of both.
fn aside<'a>(path: &'a Path, bytes: &[u8]) -> io::Result<(NamedTempFile, &'a Path)> {
    if path.file_name().is_none() {
        let expected = "expected a path that ends in a file name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, expected));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".partial");
    // Readable by whom the other files are.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok((file, folder))
}

/// Waits until the names in a folder are on the disk, as the files behind them are.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all())
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
    fn a_file_that_is_there_is_not_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.toml");
        assert!(write_new(&path, b"first").unwrap());
        assert!(!write_new(&path, b"second").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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

    #[test]
    fn a_path_without_a_name_is_refused() {
        let error = write_whole(Path::new(".."), b"x").unwrap_err();
        let source = error.source().unwrap().to_string();
        assert_eq!(source, "expected a path that ends in a file name");
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_they_may_read_of_any_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        write_whole(&folder.path().join("whole"), b"x").unwrap();
        fs::write(folder.path().join("plain"), b"x").unwrap();
        assert_eq!(mode("whole"), mode("plain"));
    }
}
