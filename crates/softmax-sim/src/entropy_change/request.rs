//! One line: a policy, its advantages and a step in; out, what the step does to the entropy, and what was predicted.

use super::chunk::LINE_BYTES;
use super::number;
use entropy_core::{Categorical, UpdateEffect, UpdateRule};
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

/// The change of entropy along one step, in nats throughout.
///
/// ```text
/// delta = first_order + remainder,   |remainder| ≤ remainder_bound
/// remainder = second_order + O(η³)
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The name of the request.
    pub id: serde_json::Value,
    /// Entropy of the policy.
    pub entropy_before: f64,
    /// Entropy after the step.
    pub entropy_after: f64,
    /// Exact change of entropy, without cancellation.
    pub delta: f64,
    /// First-order term `-η · covariance`: Theorem 1 or 2.
    pub first_order: f64,
    /// Second-order term alone, `½ h''(0)`.
    pub second_order: f64,
    /// `delta - first_order`, without cancellation.
    pub remainder: f64,
    /// Rigorous bound on the size of the remainder.
    pub remainder_bound: f64,
    /// `Cov(log π, π (A - E A))` for `pg`, `Cov(log π, A)` for `npg`; in nat·reward.
    pub covariance: f64,
}

/// Why a line has no answer: its number, what was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Problem(String);

impl Request {
    /// Reads the request on line number `line`.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the line is not JSON, lacks a field, has an unknown one or one of another type.
    pub fn parse(line: u64, bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.len() > LINE_BYTES {
            let expected = "expected one request per line";
            return Err(Problem(format!(
                "line {line}: longer than {LINE_BYTES} bytes; {expected}"
            )));
        }
        let refused = |column: usize, message: &str| {
            Problem(format!("line {line}, column {column}: {message}"))
        };
        // A struct could be read from an array as well, by position.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            let expected = "expected {\"id\": ..., \"logits\": [...], ...}";
            return Err(refused(1, &format!("not a JSON object; {expected}")));
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let text = error.to_string();
            let message = if error.is_eof() {
                "the line ends within the object; expected all of it"
            } else {
                &text[..text.rfind(" at line ").unwrap_or(text.len())]
            };
            refused(error.column(), message)
        })
    }

    /// Takes the step; `line` is the line that a problem is reported for.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the request is no policy with one finite advantage per possible action and a
    /// finite step.
    pub fn answer(&self, line: u64) -> Result<Answer, Problem> {
        let refused = |fault: String| Problem(format!("line {line}: {fault}"));
        Categorical::from_logits(&self.logits)
            .map_err(|reason| refused(format!("`logits`: {reason}")))?;
        let (logits, advantages, eta) = (self.logits.len(), self.advantages.len(), self.eta);
        if logits != advantages {
            let expected = format!("expected {logits}, one per logit");
            return Err(refused(format!("`advantages` has {advantages} values; {expected}")));
        }
        if !eta.is_finite() {
            return Err(refused(format!("`eta` is {eta}; expected a finite number")));
        }
        let advantage = |(index, (logit, advantage)): (usize, (&f64, &Option<f64>))| {
            let possible = *logit > f64::NEG_INFINITY;
            let expected = format!("expected a finite number, as action {index} is possible");
            let missing = || refused(format!("`advantages[{index}]` is null; {expected}"));
            if possible { advantage.ok_or_else(missing) } else { Ok(0.0) }
        };
        let columns = std::iter::zip(&self.logits, &self.advantages).enumerate();
        let advantages: Vec<f64> = columns.map(advantage).collect::<Result<_, _>>()?;
        // All that is left to go wrong is the range of numbers.
        let overflow = || {
            let expected = "expected a step of the logits whose square is finite";
            refused(format!("`eta` times `advantages` overflows; {expected}"))
        };
        let effect = UpdateEffect::new(&self.logits, &advantages, eta, self.rule.into())
            .map_err(|_| overflow())?;
        // `-0.0` would be read as a tiny fall of the entropy.
        let answer = Answer {
            id: self.id.clone(),
            entropy_before: effect.entropy_before,
            entropy_after: effect.entropy_after,
            delta: effect.delta + 0.0,
            first_order: effect.first_order + 0.0,
            second_order: effect.second_order + 0.0,
            remainder: effect.remainder + 0.0,
            remainder_bound: effect.remainder_bound,
            covariance: effect.covariance + 0.0,
        };
        let sums = [answer.entropy_after, answer.delta, answer.first_order, answer.second_order];
        let others = [answer.remainder, answer.remainder_bound, answer.covariance];
        let is_finite = sums.iter().chain(&others).all(|number| number.is_finite());
        if is_finite { Ok(answer) } else { Err(overflow()) }
    }
}
