//! Lines of an input in chunks of bounded size.

use std::io::{self, BufRead, Read};

/// Lines of a chunk at most: enough for all threads, few enough to answer a pipe promptly.
const CHUNK_LINES: usize = 1024;
/// Bytes after which a chunk is full.
const CHUNK_BYTES: usize = 8 << 20;
/// Bytes of a line at most: some ten million logits. What is beyond is passed over.
pub(super) const LINE_BYTES: usize = 256 << 20;

/// The number of a line in the input, from 1, and its bytes without the line break; more than [`LINE_BYTES`] if it was cut.
pub(super) type Line = (u64, Vec<u8>);

/// Some lines that are not blank, behind line `number`, and whether the input goes on or failed behind them.
///
/// `number` becomes that of the last line that was read.
pub(super) fn next_chunk(
    input: &mut impl BufRead,
    number: &mut u64,
) -> (Vec<Line>, io::Result<bool>) {
    let (mut lines, mut size) = (Vec::new(), 0);
    while lines.len() < CHUNK_LINES && size < CHUNK_BYTES {
        *number += 1;
        match next_line(input) {
            Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => {}
            Ok(Some(bytes)) => {
                size += bytes.len();
                lines.push((*number, bytes));
            }
            Ok(None) => return (lines, Ok(false)),
            Err(error) => return (lines, Err(error)),
        }
    }
    (lines, Ok(true))
}

/// The next line; none at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let limit = LINE_BYTES as u64 + 1;
    if input.by_ref().take(limit).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    } else if bytes.len() > LINE_BYTES {
        input.skip_until(b'\n')?;
    }
    Ok(Some(bytes))
}
