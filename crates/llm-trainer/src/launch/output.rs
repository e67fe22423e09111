//! Copies a rank's output line by line, each line after its rank.

use std::io::{BufRead, BufReader, Read, Write};

/// Copies `from` line by line to `into`, each line after `[rank] `; a last line without a line end gets one.
///
/// Every line is one write, so lines of several ranks do not mix. If `into` is closed, `from` is still read to its end: a rank
/// must not block on a reader that is gone.
pub(super) fn copy_lines(rank: usize, from: impl Read, mut into: impl Write) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    let mut is_read = true;
    loop {
        line.clear();
        line.extend(format!("[{rank}] ").bytes());
        let Ok(1..) = reader.read_until(b'\n', &mut line) else { return };
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        is_read = is_read && into.write_all(&line).and_then(|()| into.flush()).is_ok();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Records every write separately.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for &mut Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_one_write_with_its_rank() {
        let mut writes = Writes::default();
        copy_lines(3, &b"one\n\n\xff\nlast"[..], &mut writes);
        let expected: [&[u8]; 4] = [b"[3] one\n", b"[3] \n", b"[3] \xff\n", b"[3] last\n"];
        assert_eq!(writes.0, expected);
    }

    #[test]
    fn a_reader_that_is_gone_stops_nobody() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut left = &b"one\ntwo\n"[..];
        copy_lines(0, &mut left, writer);
        assert!(left.is_empty());
    }
}
