//! Temporary directory of one process: measured while it runs, and removed with all its content afterwards.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

#[cfg(target_os = "linux")]
use super::deleted_files::deleted_bytes;

/// Most files and directories that a program may have at once.
pub(super) const ENTRIES: usize = 1000;

/// A temporary directory, removed on drop.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        // As `/proc` prints it, to recognise deleted files of the directory.
        let parent = std::env::temp_dir().canonicalize()?;
        Ok(Self { folder: tempfile::Builder::new().prefix("code-").tempdir_in(parent)? })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns true if the directory holds more than `bytes` in total, or too many files. Deleted files that process `pid`
    /// keeps count too; each has at most `bytes`.
    pub(super) fn exceeds(&self, bytes: u64, pid: u32) -> bool {
        let mut open: Vec<PathBuf> = vec![self.path().to_owned()];
        let (mut entries, mut sum) = (0, deleted_bytes(pid, self.path(), bytes));
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                entries += 1;
                let Ok(data) = entry.metadata() else { continue };
                if data.is_dir() {
                    open.push(entry.path());
                } else {
                    sum += data.len();
                }
                if entries > ENTRIES || sum > bytes {
                    return true;
                }
            }
        }
        sum > bytes
    }

    /// Removes all content, also directories without read permission and nests deeper than the longest allowed path.
    fn clear(&self) -> io::Result<()> {
        let mut number = 0;
        loop {
            let mut found_folder = false;
            for entry in fs::read_dir(self.path())? {
                let entry = entry?;
                if !entry.file_type()?.is_dir() {
                    fs::remove_file(entry.path())?;
                    continue;
                }
                found_folder = true;
                open(&entry.path())?;
                for inner in fs::read_dir(entry.path())? {
                    let inner = inner?;
                    if inner.file_type()?.is_dir() {
                        open(&inner.path())?;
                        number += 1;
                        let place = self.path().join(format!("{number}-{}", std::process::id()));
                        fs::rename(inner.path(), place)?;
                    } else {
                        fs::remove_file(inner.path())?;
                    }
                }
                fs::remove_dir(entry.path())?;
            }
            if !found_folder {
                return Ok(());
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system's own cleaning removes what this cannot.
        let _left = self.clear();
    }
}

#[cfg(not(target_os = "linux"))]
fn deleted_bytes(_: u32, _: &Path, _: u64) -> u64 {
    0
}

fn open(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_removed_whatever_was_made_in_it() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        let mut deep = path.clone();
        for _ in 0..300 {
            deep.push("nested");
            fs::create_dir(&deep).unwrap();
        }
        fs::write(deep.join("file"), "x").unwrap();
        fs::write(path.join("1"), "x").unwrap();
        fs::create_dir(path.join("empty")).unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn bytes_and_files_are_counted_wherever_they_lie() {
        let scratch = Scratch::new().unwrap();
        let inner = scratch.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("one"), [0; 60]).unwrap();
        fs::write(scratch.path().join("two"), [0; 40]).unwrap();
        let this = std::process::id();
        assert!(!scratch.exceeds(100, this));
        assert!(scratch.exceeds(99, this));
        for number in 0..=ENTRIES {
            fs::write(inner.join(number.to_string()), []).unwrap();
        }
        assert!(scratch.exceeds(u64::MAX, this));
    }
}
