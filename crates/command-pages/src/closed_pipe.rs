//! Output to a pipe whose reader may close it early.

use std::io::{Result, Write};

/// Exit status that a shell shows for a program that `SIGPIPE` ended: 128 and the number of the signal.
pub const CLOSED_PIPE: u8 = 141;

/// A writer that remembers whether its reader has closed the pipe, as `head` does. An error that a program makes of that need
/// not be reported.
#[derive(Debug)]
pub struct Watched<W> {
    to: W,
    closed: bool,
}

impl<W> Watched<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, closed: false }
    }

    /// Returns true once the reader has closed the pipe.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn noted<T>(&mut self, written: Result<T>) -> Result<T> {
        if let Err(error) = &written {
            self.closed |= error.kind() == std::io::ErrorKind::BrokenPipe;
        }
        written
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.to.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.to.flush();
        self.noted(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_error_is_a_closed_pipe() {
        let mut two_bytes = [0_u8; 2];
        let mut full = Watched::new(&mut two_bytes[..]);
        assert!(full.write_all(b"abc").is_err());
        assert!(!full.is_closed());
    }
}
