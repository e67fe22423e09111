//! Layout of the cache, as `huggingface_hub` writes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use whole_file::{FileError, LONGEST_TEXT_BYTES, read_text_at_most, write_atomically};

/// Wraps an error of the system on a path of the cache.
pub(crate) fn on(path: &Path) -> impl FnOnce(io::Error) -> FileError {
    move |error| FileError::content(path, error)
}

/// Directory of one repository in the cache.
#[derive(Debug)]
pub(crate) struct CachedRepository {
    root: PathBuf,
    locks: PathBuf,
}

impl CachedRepository {
    /// `kind` is `models` or `datasets`.
    pub(crate) fn new(cache: &Path, kind: &str, repository: &str) -> Self {
        let name = format!("{kind}--{}", repository.replace('/', "--"));
        Self { root: cache.join(&name), locks: cache.join(".locks").join(&name) }
    }

    /// Directory of a commit's files.
    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    /// Content of a file, by its checksum.
    pub(crate) fn blob(&self, checksum: &str) -> PathBuf {
        self.root.join("blobs").join(checksum)
    }

    /// Lock of a content while one process writes it; creates the directories of both.
    pub(crate) fn lock(&self, checksum: &str) -> Result<fs::File, FileError> {
        for folder in [&self.locks, &self.root.join("blobs")] {
            fs::create_dir_all(folder).map_err(on(folder))?;
        }
        let path = self.locks.join(format!("{checksum}.lock"));
        let mut options = fs::File::options();
        let options = options.write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(on(&path))?;
        // Some file systems have no locks: two processes then write one file each, and the renamed one stays.
        let _ = file.lock();
        Ok(file)
    }

    /// Commit of a revision as last seen; a commit is its own.
    pub(crate) fn commit(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let text = read_text_at_most(&self.root.join("refs").join(revision), LONGEST_TEXT_BYTES);
        text.ok().map(|text| text.trim().to_owned()).filter(|commit| is_commit(commit))
    }

    /// Records the commit of a branch or tag.
    pub(crate) fn set_commit(&self, revision: &str, commit: &str) -> Result<(), FileError> {
        if is_commit(revision) || self.commit(revision).as_deref() == Some(commit) {
            return Ok(());
        }
        let path = self.root.join("refs").join(revision);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(on(folder))?;
        write_atomically(&path, commit.as_bytes())
    }

    /// Files of a snapshot, sorted; a link that leads nowhere is none.
    pub(crate) fn files(&self, commit: &str) -> Vec<String> {
        let root = self.snapshot(commit);
        let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = path.strip_prefix(&root).ok().and_then(Path::to_str);
                match name {
                    _ if is_folder => folders.push(path),
                    Some(name) if path.is_file() => files.push(name.to_owned()),
                    _ => {}
                }
            }
        }
        files.sort();
        files
    }

    /// Makes `file` of a snapshot a link to its content.
    pub(crate) fn link(&self, commit: &str, file: &str, checksum: &str) -> Result<(), FileError> {
        let path = self.snapshot(commit).join(file);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(on(folder))?;
        let up = "../".repeat(file.matches('/').count() + 2);
        let link = || std::os::unix::fs::symlink(format!("{up}blobs/{checksum}"), &path);
        let linked = match link() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !path.is_file() => {
                // It led nowhere.
                fs::remove_file(&path).and_then(|()| link())
            }
            linked => linked,
        };
        match linked {
            // Another process was first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked.map_err(on(&path)),
        }
    }
}

/// True for the full hash of a commit.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
