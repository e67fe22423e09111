//! Locks that keep other processes from writing into a folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The lock of a folder; the system releases it when its process ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks a folder by its file `.lock`; `None` if another holds it. Some file systems have no locks, and lock nothing.
    ///
    /// # Errors
    ///
    /// A file that cannot be created.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        // Nothing is written, wherever a link would lead.
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(folder.join(".lock"))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Self { _file: file })),
        }
    }
}
