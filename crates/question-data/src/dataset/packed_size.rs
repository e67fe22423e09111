//! Bounds on the text that a file of questions holds.

use std::fs::File;
use std::io::{self, Read};

/// Longest table that is read in one piece, in bytes.
const LONGEST_TABLE_BYTES: u64 = 256 << 20;

/// Packed text is at most this many times as long as its file, beyond [`FREE_BYTES`]. Prose packs to a third or fifth.
const MOST_UNPACKED: u64 = 64;

/// Bytes that any file may hold, however small it is.
const FREE_BYTES: u64 = 128 << 20;

/// Reads a table in one piece.
pub(super) fn read_table(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST_TABLE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_TABLE_BYTES {
        let problem = format!(
            "longer than {LONGEST_TABLE_BYTES} bytes, expected one object a line (.jsonl) beyond"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

/// Counts what is unpacked of a file, and refuses more than belongs to its length.
#[derive(Debug)]
pub(super) struct UnpackedBytes {
    packed: u64,
    most: u64,
    left: u64,
}

impl UnpackedBytes {
    pub(super) fn of(packed: u64) -> Self {
        let most = packed.saturating_mul(MOST_UNPACKED).saturating_add(FREE_BYTES);
        Self { packed, most, left: most }
    }

    pub(super) fn add(&mut self, bytes: u64) -> io::Result<()> {
        let Self { packed, most, .. } = *self;
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let problem = format!("{packed} bytes unpack to more than {most}");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        Ok(())
    }
}

/// A reader of unpacked text that ends in an error where there is too much of it.
#[derive(Debug)]
pub(super) struct Unpacked<R> {
    text: R,
    bytes: UnpackedBytes,
}

impl<R: Read> Unpacked<R> {
    pub(super) fn new(text: R, packed_bytes: u64) -> Self {
        Self { text, bytes: UnpackedBytes::of(packed_bytes) }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(buffer)?;
        self.bytes.add(count as u64)?;
        Ok(count)
    }
}
