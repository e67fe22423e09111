//! A directory that appears whole or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::GgufError;

/// A temporary directory beside its target; removed again unless it is published.
pub(super) struct Staging {
    directory: PathBuf,
    target: PathBuf,
    published: bool,
}

impl Staging {
    /// Makes the directory, and the parents of `target` where they are missing.
    pub(super) fn create(target: &Path) -> Result<Self, GgufError> {
        // A trailing `/` or `.` would hide the name; `file_name` looks past both.
        let Some(name) = target.file_name() else {
            let problem = std::io::Error::other("expected a path that ends in a name");
            return Err(GgufError::io(target, "create")(problem));
        };
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let target = parent.join(name);
        refuse_occupied(&target)?;
        fs::create_dir_all(parent).map_err(GgufError::io(parent, "create"))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".tmp.{}", std::process::id()));
        let directory = parent.join(hidden);
        fs::create_dir(&directory).map_err(GgufError::io(&directory, "create"))?;
        Ok(Self { directory, target, published: false })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Writes one small file and makes it durable.
    pub(super) fn write(&self, file: &str, contents: &[u8]) -> Result<(), GgufError> {
        let path = self.path(file);
        fs::write(&path, contents).map_err(GgufError::io(&path, "write"))?;
        let written = File::open(&path).map_err(GgufError::io(&path, "open"))?;
        written.sync_all().map_err(GgufError::io(&path, "write"))
    }

    /// Gives the directory its name. An empty directory in its place is replaced.
    pub(super) fn publish(mut self) -> Result<PathBuf, GgufError> {
        let sync = |path: &Path| {
            let directory = File::open(path).map_err(GgufError::io(path, "open"))?;
            directory.sync_all().map_err(GgufError::io(path, "write"))
        };
        sync(&self.directory)?;
        fs::rename(&self.directory, &self.target)
            .map_err(GgufError::io(&self.target, "put the finished directory at"))?;
        self.published = true;
        if let Some(parent) = self.target.parent() {
            sync(parent)?;
        }
        Ok(self.target.clone())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // Nothing can be done about a failure here; the error being returned matters more.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

fn refuse_occupied(target: &Path) -> Result<(), GgufError> {
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(GgufError::io(target, "read")(error)),
        Ok(status) => {
            let empty = status.is_dir()
                && fs::read_dir(target).map_err(GgufError::io(target, "read"))?.next().is_none();
            if empty { Ok(()) } else { Err(GgufError::Occupied { path: target.to_owned() }) }
        }
    }
}
