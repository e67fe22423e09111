//! JSON lines in, JSON lines with a verdict out: the body of `reward-math grade`.

use std::io::{BufRead, Write};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::extract::extract;
use crate::gold::Gold;
use crate::options::Options;
use crate::reward::Reward;
use crate::verdict::{Side, Verdict};

/// Why grading stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GradeError {
    /// A line is no JSON object.
    #[error("line {line}: expected a JSON object with `response` and `ground_truth`: {source}")]
    Json {
        /// Line number, from 1.
        line: usize,
        /// The parser's complaint.
        source: serde_json::Error,
    },
    /// A field is absent or of the wrong type.
    #[error("line {line}: field `{field}` is {found}, expected {expected}")]
    Field {
        /// Line number, from 1.
        line: usize,
        /// The field.
        field: &'static str,
        /// What stands there.
        found: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// Reading or writing failed.
    #[error("line {line}: {source}")]
    Io {
        /// Line number, from 1.
        line: usize,
        /// The system's complaint.
        source: std::io::Error,
    },
}

/// How many rows got which verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Right answers.
    pub right: usize,
    /// Wrong answers.
    pub wrong: usize,
    /// Rows where an answer could not be read.
    pub unparsed: usize,
}

/// Grades each row `{"response": …, "ground_truth" | "answer": …, …}`.
///
/// A row keeps its fields and gains `verdict`, `how` or `which` and `why`, `reward` and `extracted`.
///
/// # Errors
///
/// At the first line that is no such row; the rows before it are written.
pub fn grade(
    input: impl BufRead,
    output: &mut impl Write,
    options: &Options,
    reward: &Reward,
) -> Result<Counts, GradeError> {
    let mut counts = Counts::default();
    for (index, row) in input.lines().enumerate() {
        let line = index + 1;
        let row = row.map_err(|source| GradeError::Io { line, source })?;
        if row.trim().is_empty() {
            continue;
        }
        let fields =
            serde_json::from_str(&row).map_err(|source| GradeError::Json { line, source })?;
        let (fields, verdict) = grade_row(fields, line, options, reward)?;
        match verdict {
            Verdict::Right { .. } => counts.right += 1,
            Verdict::Wrong { .. } => counts.wrong += 1,
            Verdict::Unparsed { .. } => counts.unparsed += 1,
        }
        writeln!(output, "{}", Value::Object(fields))
            .map_err(|source| GradeError::Io { line, source })?;
    }
    Ok(counts)
}

fn grade_row(
    mut fields: Map<String, Value>,
    line: usize,
    options: &Options,
    reward: &Reward,
) -> Result<(Map<String, Value>, Verdict), GradeError> {
    let response = text(&fields, "response", line)?;
    let gold_field = if fields.contains_key("ground_truth") { "ground_truth" } else { "answer" };
    let ground_truth = text(&fields, gold_field, line)?;
    let extracted = extract(&response, options);
    let verdict = match Gold::parse(&ground_truth, options) {
        Ok(gold) => gold.verify(&response),
        Err(why) => Verdict::Unparsed { which: Side::GroundTruth, why },
    };
    let details = match &verdict {
        Verdict::Right { how } => vec![("verdict", "right".into()), ("how", named(how))],
        Verdict::Wrong { how } => vec![("verdict", "wrong".into()), ("how", named(how))],
        Verdict::Unparsed { which, why } => vec![
            ("verdict", "unparsed".into()),
            ("which", named(which)),
            ("why", Value::String(why.to_string())),
        ],
    };
    fields.extend(details.into_iter().map(|(name, value): (&str, Value)| (name.to_owned(), value)));
    fields.insert("reward".to_owned(), reward.of(&verdict).into());
    fields.insert("extracted".to_owned(), extracted.map_or(Value::Null, |found| found.text.into()));
    Ok((fields, verdict))
}

fn named(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A string field; a number is taken as it is written.
fn text(
    fields: &Map<String, Value>,
    field: &'static str,
    line: usize,
) -> Result<String, GradeError> {
    let found = match fields.get(field) {
        Some(Value::String(text)) => return Ok(text.clone()),
        Some(Value::Number(number)) => return Ok(number.to_string()),
        None => "absent",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    };
    Err(GradeError::Field { line, field, found, expected: "a string or a number" })
}
