//! One line of input: a policy, its advantages and a step.

use super::chunk::LINE_BYTES;
use super::number;
use entropy_core::{Categorical, LogitsError, UpdateRule};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A policy, the advantage of each action, and the step to take.
///
/// JSON form: `{"id": …, "logits": [… or null], "advantages": […], "eta": x, "rule": "pg" | "npg"}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Name of the line, any JSON, returned unchanged; null if left out.
    #[serde(default, deserialize_with = "number::id")]
    pub id: serde_json::Value,
    /// Logits, `[actions]`; null in JSON stands for `-∞`, an impossible action.
    #[serde(deserialize_with = "number::logits")]
    pub logits: Vec<f64>,
    /// Advantage of each action, `[actions]`, in reward; may be missing (null) where the action is
    /// impossible. Any baseline: the policy gradient centres it under the policy.
    #[serde(deserialize_with = "number::advantages")]
    pub advantages: Vec<Option<f64>>,
    /// Step size; a negative one descends.
    #[serde(deserialize_with = "number::eta")]
    pub eta: f64,
    /// How the advantages become a step.
    #[serde(deserialize_with = "number::rule")]
    pub rule: Rule,
}

/// The update rule, by its short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Vanilla policy gradient: Proposition 1, Theorem 1.
    Pg,
    /// Natural policy gradient: Theorem 2.
    Npg,
}

impl From<Rule> for UpdateRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Pg => Self::PolicyGradient,
            Rule::Npg => Self::NaturalPolicyGradient,
        }
    }
}

/// Why a line, counted from 1, has no answer.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// Not the JSON of a request.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// Number of the line.
        line: u64,
        /// Byte within the line, from 1; 0 for the line as a whole.
        column: usize,
        /// Problem found and value expected, in words.
        message: String,
    },
    /// The line does not end in time.
    #[error("line {line}: longer than {LINE_BYTES} bytes; expected one request per line")]
    TooLong {
        /// Number of the line.
        line: u64,
    },
    /// The logits are no policy.
    #[error("line {line}: `logits`: {reason}")]
    Logits {
        /// Number of the line.
        line: u64,
        /// Reason.
        reason: LogitsError,
    },
    /// Columns of different length.
    #[error("line {line}: `advantages` has {advantages} values; expected {logits}, one per logit")]
    Length {
        /// Number of the line.
        line: u64,
        /// Number of advantages.
        advantages: usize,
        /// Number of logits.
        logits: usize,
    },
    /// A possible action without an advantage.
    #[error(
        "line {line}: `advantages[{index}]` is null; expected a finite number, as action {index} is possible"
    )]
    NoAdvantage {
        /// Number of the line.
        line: u64,
        /// The action.
        index: usize,
    },
    /// A step size that is not finite.
    #[error("line {line}: `eta` is {eta}; expected a finite number")]
    Eta {
        /// Number of the line.
        line: u64,
        /// The step size.
        eta: f64,
    },
    /// The step leaves the range of numbers.
    #[error(
        "line {line}: `eta` times `advantages` overflows; expected a step of the logits whose square is finite"
    )]
    Overflow {
        /// Number of the line.
        line: u64,
    },
}

impl Request {
    /// Reads the request on line number `line`.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the line is not JSON, lacks a field, has an unknown one or one of another type.
    pub fn parse(line: u64, bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.len() > LINE_BYTES {
            return Err(Problem::TooLong { line });
        }
        // A struct could be read from an array as well, by position.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            let message = "not a JSON object; expected {\"id\": ..., \"logits\": [...], ...}";
            return Err(Problem::Json { line, column: 1, message: message.to_owned() });
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let text = error.to_string();
            let message = if error.is_eof() {
                "the line ends within the object; expected all of it"
            } else {
                &text[..text.rfind(" at line ").unwrap_or(text.len())]
            };
            Problem::Json { line, column: error.column(), message: message.to_owned() }
        })
    }

    /// Checks the request and returns the advantages; that of an impossible action is 0.
    pub(super) fn checked(&self, line: u64) -> Result<Vec<f64>, Problem> {
        Categorical::from_logits(&self.logits)
            .map_err(|reason| Problem::Logits { line, reason })?;
        let (logits, advantages) = (self.logits.len(), self.advantages.len());
        if logits != advantages {
            return Err(Problem::Length { line, advantages, logits });
        }
        if !self.eta.is_finite() {
            return Err(Problem::Eta { line, eta: self.eta });
        }
        let advantage = |(index, (logit, advantage)): (usize, (&f64, &Option<f64>))| {
            if *logit == f64::NEG_INFINITY {
                return Ok(0.0);
            }
            advantage.ok_or(Problem::NoAdvantage { line, index })
        };
        let columns = std::iter::zip(&self.logits, &self.advantages);
        columns.enumerate().map(advantage).collect()
    }
}
