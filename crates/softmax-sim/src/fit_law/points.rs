//! Points of a run: entropy and reward, read from CSV or JSON.

use super::rows::{ReadError, RowProblem, rows};
use std::io::Read;

/// Entropies in nats and rewards, in the order of the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points {
    /// Entropies in nats, `[points]`.
    pub entropy: Vec<f64>,
    /// Rewards, `[points]`.
    pub reward: Vec<f64>,
}

impl Points {
    /// Reads points, and the problems of rows without one, from CSV with a header, JSON lines or one JSON array of objects.
    ///
    /// The first character tells the format. `entropy` and `reward` name the columns. A row with neither value is skipped. A
    /// row of CSV is one line: no value may hold a line break.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if no row could be read at all.
    pub fn read(
        mut input: impl Read,
        entropy: &str,
        reward: &str,
    ) -> Result<(Self, Vec<RowProblem>), ReadError> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(ReadError::Read)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut points = Self::default();
        let (mut problems, mut passed_over) = (Vec::new(), false);
        for row in rows(bytes, [entropy, reward])? {
            match row {
                Ok(Some((entropy, reward))) => {
                    points.entropy.push(entropy);
                    points.reward.push(reward);
                }
                Ok(None) => passed_over = true,
                Err(problem) => problems.push(problem),
            }
        }
        if passed_over && points.entropy.is_empty() && problems.is_empty() {
            let (entropy, reward) = (entropy.to_owned(), reward.to_owned());
            return Err(ReadError::NoValues { entropy, reward });
        }
        Ok((points, problems))
    }
}
