//! Directories that are either complete or absent.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::file::{folder_of, sync_folder_of};

/// A directory under construction: [`DirectoryInProgress::commit`] gives it its name, drop without commit removes it.
#[derive(Debug)]
pub struct DirectoryInProgress {
    partial: PathBuf,
    target: PathBuf,
}

impl DirectoryInProgress {
    /// Creates an empty temporary directory that will become `target`, and the parents of `target`.
    ///
    /// Its name is that of no other process; those that ended processes left behind are removed.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming `target`.
    pub fn begin(target: &Path) -> Result<Self, FileError> {
        let partial = partial_name(target);
        let start = || {
            fs::create_dir_all(folder_of(target))?;
            remove_leftovers(target)?;
            // Not through a link: what is there already is an error.
            fs::create_dir(&partial)
        };
        start().map_err(FileError::of(target, "create the folder"))?;
        Ok(Self { partial, target: target.to_path_buf() })
    }

    /// Temporary path, to write to until the commit.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Flushes all files and directories, then renames the directory to `target`; an older one of that name is
    /// replaced.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the target; the temporary directory is removed.
    pub fn commit(self) -> Result<(), FileError> {
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
        finish().map_err(FileError::of(&self.target, "write the folder"))?;
        sync_folder_of(&self.target)
    }
}

impl Drop for DirectoryInProgress {
    // After the commit there is nothing of that name.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// Returns `.name.PID.partial` beside `path`: in the same directory, so that the rename stays within one file system.
fn partial_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}

/// Removes what this process and ended ones left of `target`. The name of an older version has no process.
fn remove_leftovers(target: &Path) -> io::Result<()> {
    let Some(name) = target.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    for entry in fs::read_dir(folder_of(target))? {
        let entry = entry?;
        let file_name = entry.file_name();
        let middle = file_name.to_str().and_then(|text| {
            let text = text.strip_prefix('.')?.strip_prefix(name)?;
            text.strip_suffix(".partial").or_else(|| text.strip_suffix(".retired"))
        });
        let process = |text: &str| text.strip_prefix('.')?.parse::<u32>().ok();
        let has_ended = |text| process(text).is_some_and(|process| !is_other_process(process));
        if middle.is_some_and(|text| text.is_empty() || has_ended(text)) {
            remove_folder(&entry.path())?;
        }
    }
    Ok(())
}

/// Returns true for a running process other than this one; where that cannot be known, for every other one.
fn is_other_process(process: u32) -> bool {
    let known = Path::new("/proc/self").exists();
    process != std::process::id()
        && (!known || Path::new("/proc").join(process.to_string()).exists())
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
