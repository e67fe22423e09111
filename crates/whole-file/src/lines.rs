//! Lines of a text of unknown length, each up to a bound.

use std::io::{self, BufRead, Read};

/// Longest line of a user's file, in bytes.
pub const LONGEST_LINE_BYTES: usize = 32 << 20;

/// Longest line that a run writes, in bytes: a group of responses with a number for every token.
pub const LONGEST_RECORD_BYTES: usize = 256 << 20;

/// Returns a text without the byte-order mark that some programs put before it.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Numbered lines of `reader` without their line break and a byte-order mark; empty ones are passed over.
///
/// A line beyond the bound is an error of kind `InvalidData`, and the last item. Memory holds one line.
#[derive(Debug)]
pub struct NumberedLines<R> {
    reader: R,
    longest: usize,
    number: usize,
    is_done: bool,
}

/// A line, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedLine {
    /// Number of the line, counted from 1.
    pub number: usize,
    /// Bytes before the line break.
    pub bytes: Vec<u8>,
    /// False for a last line that the end of the text cut off.
    pub is_complete: bool,
}

impl<R: BufRead> NumberedLines<R> {
    /// Reads lines of at most `longest` bytes from here on.
    pub fn new(reader: R, longest: usize) -> Self {
        Self { reader, longest, number: 0, is_done: false }
    }

    fn read(&mut self) -> io::Result<Option<NumberedLine>> {
        // A gigabyte of line breaks is passed over without a step for each.
        loop {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let empty = buffer.iter().take_while(|&&byte| byte == b'\n').count();
            if empty == 0 {
                break;
            }
            self.number += empty;
            self.reader.consume(empty);
        }
        let mut bytes = Vec::new();
        let most = self.longest as u64 + 1;
        self.reader.by_ref().take(most).read_until(b'\n', &mut bytes)?;
        let is_complete = bytes.pop_if(|byte| *byte == b'\n').is_some();
        if bytes.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let (number, longest) = (self.number, self.longest);
        if bytes.len() > longest {
            let problem = format!("line {number} is longer than {longest} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        if number == 1 {
            let mark = bytes.len() - without_mark(&bytes).len();
            bytes.drain(..mark);
        }
        Ok(Some(NumberedLine { number, bytes, is_complete }))
    }
}

impl<R: BufRead> Iterator for NumberedLines<R> {
    type Item = io::Result<NumberedLine>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let line = self.read().transpose();
        self.is_done = !matches!(line, Some(Ok(_)));
        line
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, repeat};

    use super::*;

    #[test]
    fn lines_have_their_numbers_and_a_torn_one_is_told_apart() {
        // A buffer of three bytes ends within lines.
        let reader = BufReader::with_capacity(3, &b"\xef\xbb\xbfone\n\n\nfour\r\n\nsix.un"[..]);
        let lines: Vec<NumberedLine> = NumberedLines::new(reader, 6).map(Result::unwrap).collect();
        let line = |number, text: &str, is_complete| NumberedLine {
            number,
            bytes: text.as_bytes().to_vec(),
            is_complete,
        };
        assert_eq!(
            lines,
            [line(1, "one", true), line(4, "four\r", true), line(6, "six.un", false)]
        );
    }

    #[test]
    fn a_line_without_end_is_refused_and_ends_the_reading() {
        let mut lines =
            NumberedLines::new(BufReader::new(Read::chain(&b"a\n"[..], repeat(b'x'))), 1000);
        assert_eq!(lines.next().unwrap().unwrap().bytes, b"a");
        let error = lines.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "line 2 is longer than 1000 bytes");
        assert!(lines.next().is_none());
    }

    #[test]
    fn a_hundred_million_line_breaks_are_no_lines() {
        let breaks = BufReader::with_capacity(1 << 20, repeat(b'\n').take(1 << 27));
        let mut lines = NumberedLines::new(Read::chain(breaks, &b"x"[..]), 1);
        assert_eq!(lines.next().unwrap().unwrap().number, (1 << 27) + 1);
    }
}
