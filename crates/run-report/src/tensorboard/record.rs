//! `TFRecord` framing: a length, bytes, and checksums of both.
//!
//! ```text
//! u64 length · u32 masked CRC-32C of the length · bytes · u32 masked CRC-32C of the bytes      (little-endian)
//! ```

use crc::{CRC_32_ISCSI, Crc};

const CASTAGNOLI: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Frames `content` as a record.
pub fn frame(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let checksums = [&length[..], content].map(|bytes| masked_checksum(bytes).to_le_bytes());
    [&length[..], &checksums[0], content, &checksums[1]].concat()
}

/// Reads the contents of the records before the first torn or damaged one; and true if every record is intact.
pub fn read_records(mut bytes: &[u8]) -> (Vec<&[u8]>, bool) {
    let mut contents = Vec::new();
    while let Some((content, rest)) = split_record(bytes) {
        contents.push(content);
        bytes = rest;
    }
    (contents, bytes.is_empty())
}

/// Content of the first record, and the bytes after it.
fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_intact =
        |bytes: &[u8], checksum: [u8; 4]| masked_checksum(bytes) == u32::from_le_bytes(checksum);
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    if !is_intact(length, *checksum) {
        return None;
    }
    let (content, rest) = rest.split_at_checked(u64::from_le_bytes(*length).try_into().ok()?)?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    is_intact(content, *checksum).then_some((content, rest))
}

/// CRC-32C, rotated and shifted so that records can hold records.
fn masked_checksum(bytes: &[u8]) -> u32 {
    CASTAGNOLI.checksum(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}
