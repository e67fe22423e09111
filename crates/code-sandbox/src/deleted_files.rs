//! Files that a running process keeps though their names are gone: a walk through its directory misses them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// End of the path of such a file, as `/proc` prints it.
const DELETED: &str = " (deleted)";

/// Returns the bytes of deleted files of `folder` that process `pid` keeps, at most.
///
/// A file that is open has its length. One that is only mapped hides its length, and counts as `longest`.
pub(super) fn deleted_bytes(pid: u32, folder: &Path, longest: u64) -> u64 {
    let process = Path::new("/proc").join(pid.to_string());
    let folder = folder.to_string_lossy();
    let is_deleted = |path: &str| path.starts_with(&*folder) && path.ends_with(DELETED);
    let mut files = BTreeMap::new();
    for line in fs::read_to_string(process.join("maps")).unwrap_or_default().lines() {
        // Addresses, rights, offset, device, number of the file, path.
        let mut fields = line.splitn(6, ' ');
        let number = fields.nth(4).and_then(|number| number.parse::<u64>().ok());
        if let Some(number) = number
            && fields.next().is_some_and(|path| is_deleted(path.trim_start()))
        {
            files.insert(number, longest);
        }
    }
    for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
        let link = fs::read_link(entry.path()).unwrap_or_default();
        if is_deleted(&link.to_string_lossy())
            && let Ok(file) = fs::metadata(entry.path())
        {
            files.insert(file.ino(), file.len());
        }
    }
    files.into_values().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn an_open_file_without_a_name_is_counted_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[0; 1000]).unwrap();
        let bytes = |folder: &Path| deleted_bytes(std::process::id(), folder, 5);
        assert_eq!(bytes(folder.path()), 0);
        fs::remove_file(&path).unwrap();
        assert_eq!(bytes(folder.path()), 1000);
        assert_eq!(bytes(&folder.path().join("other")), 0);
        drop(file);
        assert_eq!(bytes(folder.path()), 0);
    }
}
