//! Files and folders that are either whole or not there.
//!
//! Everything is built under a temporary name in the folder it will live in, flushed to the disk, then
//! renamed. A full disk or a killed process leaves the old state, never half of the new one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A write that did not happen; what was there before is untouched.
#[derive(Debug, Error)]
#[error("{}: cannot {action}: {source}", path.display())]
pub struct WriteError {
    /// What was to be written.
    pub path: PathBuf,
    /// What was tried.
    pub action: &'static str,
    /// What the system said.
    pub source: io::Error,
}

impl WriteError {
    /// The error of trying `action` on `path`.
    pub fn of(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { path, action, source }
    }
}

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
    let partial = partial_name(path);
    let written = File::create(&partial)
        .and_then(|mut file| {
            write(&mut file)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&partial, path));
    if let Err(source) = written {
        // Best effort: what failed first is what the user must hear of.
        let _ = fs::remove_file(&partial);
        return Err(WriteError { path: path.to_path_buf(), action: "write", source });
    }
    sync_folder_of(path)
}

/// A folder under construction; it takes its name on [`DirectoryInProgress::commit`] and vanishes when dropped.
#[derive(Debug)]
pub struct DirectoryInProgress {
    partial: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl DirectoryInProgress {
    /// Starts an empty folder that will become `target`, whose parents are made.
    ///
    /// # Errors
    ///
    /// [`WriteError`], naming `target`.
    pub fn begin(target: &Path) -> Result<Self, WriteError> {
        let partial = partial_name(target);
        let start = || {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            remove_folder(&partial)?;
            fs::create_dir(&partial)
        };
        start().map_err(WriteError::of(target, "create the folder"))?;
        Ok(Self { partial, target: target.to_path_buf(), committed: false })
    }

    /// Where to write for now.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Flushes every file and folder, then gives the folder its name; an older one of that name is replaced.
    ///
    /// # Errors
    ///
    /// [`WriteError`], naming the target; nothing of the new folder stays behind.
    pub fn commit(mut self) -> Result<(), WriteError> {
        let retired = self.partial.with_extension("retired");
        let finish = || {
            sync_tree(&self.partial)?;
            remove_folder(&retired)?;
            if self.target.exists() {
                fs::rename(&self.target, &retired)?;
            }
            if let Err(error) = fs::rename(&self.partial, &self.target) {
                // Put the old one back before reporting.
                let _ = fs::rename(&retired, &self.target);
                return Err(error);
            }
            remove_folder(&retired)
        };
        finish().map_err(WriteError::of(&self.target, "write the folder"))?;
        self.committed = true;
        sync_folder_of(&self.target)
    }
}

impl Drop for DirectoryInProgress {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// `.name.partial` beside `path`: the same folder, so that the rename stays within one file system.
fn partial_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".partial");
    path.with_file_name(name)
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    File::open(folder)?.sync_all()
}

fn sync_folder_of(path: &Path) -> Result<(), WriteError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(WriteError::of(path, "flush the folder of"))
}
