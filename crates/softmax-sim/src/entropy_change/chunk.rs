//! Lines of an input in chunks of bounded size.

use std::io::{self, BufRead, Read};

/// Lines of a chunk at most: enough for all threads, few enough to answer a pipe promptly.
const CHUNK_LINES: usize = 1024;
/// Bytes after which a chunk is full.
const CHUNK_BYTES: usize = 8 << 20;
/// Bytes of a line at most: some ten million logits. What is beyond is passed over.
pub(super) const LINE_BYTES: usize = 256 << 20;

/// One line without its line break.
#[derive(Debug)]
pub(super) struct Line {
    /// Its number in the input, from 1.
    pub(super) number: u64,
    /// Its bytes; longer than [`LINE_BYTES`] if the line was cut.
    pub(super) bytes: Vec<u8>,
}

/// An iterator over chunks: some lines that are not blank and, on the last one, what ended the
/// input early and in which line.
pub(super) struct Chunks<R> {
    input: R,
    line: u64,
    ended: bool,
}

impl<R: BufRead> Chunks<R> {
    pub(super) fn of(input: R) -> Self {
        Self { input, line: 0, ended: false }
    }

    /// The next line; none at the end of the input.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let limit = LINE_BYTES as u64 + 1;
        let read = self.input.by_ref().take(limit).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() > LINE_BYTES {
            self.input.skip_until(b'\n')?;
        }
        Ok(Some(bytes))
    }
}

impl<R: BufRead> Iterator for Chunks<R> {
    type Item = (Vec<Line>, Option<(u64, io::Error)>);

    fn next(&mut self) -> Option<Self::Item> {
        let (mut lines, mut size) = (Vec::new(), 0);
        while !self.ended && lines.len() < CHUNK_LINES && size < CHUNK_BYTES {
            self.line += 1;
            match self.next_line() {
                Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => {}
                Ok(Some(bytes)) => {
                    size += bytes.len();
                    lines.push(Line { number: self.line, bytes });
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some((lines, Some((self.line, error))));
                }
            }
        }
        (!lines.is_empty()).then_some((lines, None))
    }
}
