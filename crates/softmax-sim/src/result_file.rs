//! Files of results, in folders that are made if need be.

use serde::Serialize;
use std::fs;
use std::path::Path;
use whole_file::{FileError, write_atomically};

/// Writes a file as a whole, or replaces it, in a folder that is made if need be.
///
/// # Errors
///
/// [`FileError`], naming the file, which is then as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.map_err(FileError::of(path, "write"))?;
    write_atomically(path, bytes)
}

/// Writes `value` as JSON for people, by [`write_whole`].
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let json = serde_json::to_string_pretty(value).expect("a result goes into JSON");
    write_whole(path, format!("{json}\n").as_bytes())
}
