//! A calculator: JSON lines with a policy and its advantages in, JSON lines with the change of entropy
//! out.
//!
//! A bad line is a [`Problem`] of its own and costs no other line. Lines are read in chunks of bounded
//! size and computed on all threads; answers keep the order of the lines.
//!
//! ```
//! let lines = br#"{"id": 1, "logits": [0.0, 1.0, null], "advantages": [1.0, 0.0, 0.0], "eta": 0.1, "rule": "pg"}
//! {"id": 2, "logits": []}"#;
//! let (mut answers, mut problems) = (Vec::new(), Vec::new());
//! let tally = softmax_sim::entropy_change::stream(&lines[..], &mut answers, &mut problems)?;
//! assert_eq!((tally.answers, tally.problems), (1, 1));
//! assert!(String::from_utf8_lossy(&answers).starts_with(r#"{"id":1,"entropy_before":0.58"#));
//! assert!(String::from_utf8_lossy(&problems).starts_with("line 2, "));
//! # Ok::<(), softmax_sim::entropy_change::StreamError>(())
//! ```

mod chunk;
mod number;
mod request;

pub use request::{Answer, Problem, Request, Rule};

use chunk::next_chunk;
use rayon::prelude::*;
use std::io::{self, BufRead, Write};
use thiserror::Error;

/// How many lines were answered and how many could not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Lines with an answer.
    pub answers: u64,
    /// Lines with a problem.
    pub problems: u64,
}

/// Reading or writing failed; the lines themselves never end a stream.
#[derive(Debug, Error)]
pub enum StreamError {
    /// The input could not be read on.
    #[error("cannot read line {line}")]
    Read {
        /// Number of the line, from 1.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// An answer or a problem could not be written.
    #[error("cannot write")]
    Write(#[source] io::Error),
}

/// Answers every line of `input`, a JSON object each, in order: an [`Answer`] as a line of JSON to
/// `answers`, or `line N: …` to `problems`. Blank lines are passed over.
///
/// Memory is bounded by the size of a chunk (a few MiB) and of the longest line, whatever the length
/// of the input.
///
/// # Errors
///
/// [`StreamError`] if a line cannot be read or a result cannot be written.
pub fn stream(
    mut input: impl BufRead,
    answers: &mut impl Write,
    problems: &mut impl Write,
) -> Result<Tally, StreamError> {
    let (mut tally, mut line) = (Tally::default(), 0);
    loop {
        let (lines, goes_on) = next_chunk(&mut input, &mut line);
        let results: Vec<Result<String, Problem>> =
            lines.par_iter().map(|(line, bytes)| answer_line(*line, bytes)).collect();
        for result in results {
            match result {
                Ok(answer) => {
                    tally.answers += 1;
                    writeln!(answers, "{answer}").map_err(StreamError::Write)?;
                }
                Err(problem) => {
                    tally.problems += 1;
                    writeln!(problems, "{problem}").map_err(StreamError::Write)?;
                }
            }
        }
        // A pipe sees each chunk's answers as soon as they are there.
        answers.flush().map_err(StreamError::Write)?;
        if !goes_on.map_err(|source| StreamError::Read { line, source })? {
            return Ok(tally);
        }
    }
}

fn answer_line(line: u64, bytes: &[u8]) -> Result<String, Problem> {
    let answer = Request::parse(line, bytes)?.answer(line)?;
    Ok(serde_json::to_string(&answer).expect("numbers and the id's own JSON can be written"))
}
