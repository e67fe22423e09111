//! Bounded reads of files of unknown length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest file of settings or text that belongs to a model, in bytes.
pub const LONGEST_TEXT_BYTES: u64 = 8 << 20;

/// Opens a regular file to be read. A directory, pipe or device may block, or have no end.
///
/// # Errors
///
/// The system's error; `InvalidData` if it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let check = |is_file: bool| {
        let error = || io::Error::new(io::ErrorKind::InvalidData, "not a file");
        if is_file { Ok(()) } else { Err(error()) }
    };
    // Checked before it is opened, which would block for ever on a named pipe; and after, lest it was exchanged.
    check(std::fs::metadata(path)?.is_file())?;
    let file = File::open(path)?;
    check(file.metadata()?.is_file())?;
    Ok(file)
}

/// Reads a file of at most `longest` bytes; memory never holds more than one byte above that.
///
/// # Errors
///
/// Those of [`open_regular`]; `InvalidData` if the file is longer.
pub fn read_at_most(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        let problem = format!("longer than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

/// Reads UTF-8 text by [`read_at_most`].
///
/// # Errors
///
/// The errors of [`read_at_most`], and `InvalidData` if the bytes are not UTF-8.
pub fn read_text_at_most(path: &Path, longest: u64) -> io::Result<String> {
    String::from_utf8(read_at_most(path, longest)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("not UTF-8: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_up_to_the_bound_are_read_and_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_at_most(&path, 100).unwrap(), [7; 100]);
        assert_eq!(read_at_most(&path, 99).unwrap_err().to_string(), "longer than 99 bytes");
        let endless = read_at_most(Path::new("/dev/zero"), 10).unwrap_err();
        assert_eq!(endless.to_string(), "not a file");
        assert_eq!(read_at_most(folder.path(), 10).unwrap_err().to_string(), "not a file");
        std::fs::write(&path, [0xff]).unwrap();
        assert!(read_text_at_most(&path, 10).unwrap_err().to_string().starts_with("not UTF-8"));
    }
}
