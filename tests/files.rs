//! Folders of files for a test, and messages that name them.

use std::path::Path;

use tempfile::TempDir;

/// A new folder with these files.
///
/// # Panics
///
/// If it cannot be written.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("it is new");
        std::fs::write(path, content).expect("the folder can be written");
    }
    folder
}

/// The names of what a folder holds, sorted.
///
/// # Panics
///
/// If it cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("it can be read").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// The message of an error, with the temporary folder's name left out.
///
/// # Panics
///
/// If there is no error.
pub fn message<T>(result: Result<T, impl std::error::Error>, folder: &Path) -> String {
    let error = result.err().expect("this must fail");
    error.to_string().replace(&folder.display().to_string(), "DIR")
}
