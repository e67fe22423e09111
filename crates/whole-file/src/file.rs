//! Files that are either whole or not there.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::WriteError;

/// Writes `bytes` to `path`, all or nothing.
///
/// # Errors
///
/// [`WriteError`], naming the file; the temporary file is gone and `path` is as it was.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_atomically_with(path, |file| file.write_all(bytes))
}

/// Like [`write_atomically`], for content that is streamed.
///
/// # Errors
///
/// [`WriteError`], also where `write` itself fails; the temporary file is gone and `path` is as it was.
pub fn write_atomically_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), WriteError> {
    let place = || aside(path, write)?.persist(path).map_err(|error| error.error);
    place().map_err(WriteError::of(path, "write"))?;
    sync_folder_of(path)
}

/// Writes a file that is not there yet; whether it was not.
///
/// Of several processes that do so at once, one is told that it has written it.
///
/// # Errors
///
/// As for [`write_atomically`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, WriteError> {
    let place = || match aside(path, |file| file.write_all(bytes))?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    };
    let is_new = place().map_err(WriteError::of(path, "write"))?;
    if is_new {
        sync_folder_of(path)?;
    }
    Ok(is_new)
}

/// A file beside `path`, on the disk, with what `write` wrote: it vanishes unless it is put in its place. It has a name of its
/// own, so that several processes may write the same file.
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
    // Readable by whom the other files are.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder_of(path))?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Waits until the names in a folder are on the disk, as the files behind them are.
///
/// # Errors
///
/// What the system says.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all())
}

pub(crate) fn sync_folder_of(path: &Path) -> Result<(), WriteError> {
    sync_folder(folder_of(path)).map_err(WriteError::of(path, "flush the folder of"))
}
