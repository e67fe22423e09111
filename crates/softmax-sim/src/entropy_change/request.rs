//! One line of input: a policy, its advantages and a step.

use super::chunk::LINE_BYTES;
use super::number;
use entropy_core::{Categorical, UpdateRule};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use thiserror::Error;

/// A policy, the advantage of each action, and the step to take.
///
/// JSON form: `{"id": …, "logits": [… or null], "advantages": […], "eta": x, "rule": "pg" | "npg"}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Name of the line, any JSON, returned unchanged; null if left out.
    #[serde(default, deserialize_with = "number::id")]
    pub(super) id: serde_json::Value,
    /// Logits, `[actions]`; null in JSON stands for `-∞`, an impossible action.
    #[serde(deserialize_with = "number::logits")]
    pub(super) logits: Vec<f64>,
    /// Advantage of each action, `[actions]`, in reward; may be missing (null) where the action is
    /// impossible. Any baseline: the policy gradient centres it under the policy.
    #[serde(deserialize_with = "number::advantages")]
    pub(super) advantages: Vec<Option<f64>>,
    /// Step size; a negative one descends.
    #[serde(deserialize_with = "number::eta")]
    pub(super) eta: f64,
    /// How the advantages become a step.
    #[serde(deserialize_with = "number::rule")]
    pub(super) rule: Rule,
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

/// Why a line, counted from 1, has no answer: its number, what is wrong and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    pub(super) fn of_line(line: u64, message: impl Display) -> Self {
        Self(format!("line {line}: {message}"))
    }

    /// A line that is not the JSON of a request from byte `column` on.
    fn of_json(line: u64, column: usize, message: &str) -> Self {
        Self(format!("line {line}, column {column}: {message}"))
    }
}

impl Request {
    /// Reads the request on line number `line`.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the line is not JSON, lacks a field, has an unknown one or one of another type.
    pub fn parse(line: u64, bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.len() > LINE_BYTES {
            let message = format!("longer than {LINE_BYTES} bytes; expected one request per line");
            return Err(Problem::of_line(line, message));
        }
        // A struct could be read from an array as well, by position.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            let message = "not a JSON object; expected {\"id\": ..., \"logits\": [...], ...}";
            return Err(Problem::of_json(line, 1, message));
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let text = error.to_string();
            let message = if error.is_eof() {
                "the line ends within the object; expected all of it"
            } else {
                &text[..text.rfind(" at line ").unwrap_or(text.len())]
            };
            Problem::of_json(line, error.column(), message)
        })
    }

    /// Checks the request and returns the advantages; that of an impossible action is 0.
    pub(super) fn checked(&self) -> Result<Vec<f64>, String> {
        Categorical::from_logits(&self.logits).map_err(|reason| format!("`logits`: {reason}"))?;
        let (logits, advantages) = (self.logits.len(), self.advantages.len());
        if logits != advantages {
            return Err(format!(
                "`advantages` has {advantages} values; expected {logits}, one per logit"
            ));
        }
        let advantage = |(index, (logit, advantage)): (usize, (&f64, &Option<f64>))| {
            if *logit == f64::NEG_INFINITY {
                return Ok(0.0);
            }
            advantage.ok_or_else(|| {
                format!(
                    "`advantages[{index}]` is null; expected a finite number, as action {index} is possible"
                )
            })
        };
        let columns = std::iter::zip(&self.logits, &self.advantages);
        columns.enumerate().map(advantage).collect()
    }
}
