//! `TFRecord` framing: a length, bytes, and checksums of both.
//!
//! ```text
//! u64 length · u32 masked CRC-32C of the length · bytes · u32 masked CRC-32C of the bytes      (little-endian)
//! ```

use crc::{CRC_32_ISCSI, Crc};
use thiserror::Error;

const CASTAGNOLI: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Bytes of a record before and after its content.
const HEADER_BYTES: usize = 12;
const FOOTER_BYTES: usize = 4;

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("byte {offset}: {problem}")]
pub struct RecordError {
    /// Offset of the record's first byte.
    pub offset: usize,
    /// Description of the fault.
    pub problem: String,
}

/// Frames `content` as a record.
pub fn frame(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(HEADER_BYTES + content.len() + FOOTER_BYTES);
    record.extend(length);
    record.extend(masked_checksum(&length).to_le_bytes());
    record.extend(content);
    record.extend(masked_checksum(content).to_le_bytes());
    record
}

/// Reads the contents of all complete records from the start, and the fault after them, if any.
pub fn read_records(bytes: &[u8]) -> (Vec<&[u8]>, Option<RecordError>) {
    let (mut contents, mut offset) = (Vec::new(), 0);
    while offset < bytes.len() {
        match record_at(&bytes[offset..]) {
            Ok(content) => {
                contents.push(content);
                offset += HEADER_BYTES + content.len() + FOOTER_BYTES;
            }
            Err(problem) => return (contents, Some(RecordError { offset, problem })),
        }
    }
    (contents, None)
}

fn record_at(bytes: &[u8]) -> Result<&[u8], String> {
    let cut = || "the file ends within a record".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let (checksum, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    check("length", masked_checksum(length), *checksum)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|error| error.to_string())?;
    let (content, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
    let checksum = rest.first_chunk::<4>().ok_or_else(cut)?;
    check("content", masked_checksum(content), *checksum)?;
    Ok(content)
}

fn check(what: &str, expected: u32, found: [u8; 4]) -> Result<(), String> {
    let actual = u32::from_le_bytes(found);
    if actual == expected {
        return Ok(());
    }
    Err(format!("the checksum of its {what} is {actual:08x}, expected {expected:08x}"))
}

/// CRC-32C, rotated and shifted so that records can hold records.
fn masked_checksum(bytes: &[u8]) -> u32 {
    CASTAGNOLI.checksum(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}
