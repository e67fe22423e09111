//! Locks that keep other processes from writing into a folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The lock of a folder; the system releases it when its process ends.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    // A child process that another thread starts holds the file, too, until it runs its own program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
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
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Self { file })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FolderLock;

    #[test]
    fn a_copy_of_the_file_in_a_child_process_does_not_hold_the_lock() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lock = FolderLock::take(folder.path()).expect("the file is created").expect("free");
        let of_child = lock.file.try_clone().expect("a second descriptor");
        assert!(FolderLock::take(folder.path()).expect("the file opens").is_none());
        drop(lock);
        assert!(FolderLock::take(folder.path()).expect("the file opens").is_some());
        drop(of_child);
    }
}
