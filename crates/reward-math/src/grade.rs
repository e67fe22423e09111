//! Grading of JSON lines, one verdict per line: the body of `reward-math grade`.

use std::io::{BufRead, Write};

use rayon::prelude::*;
use serde_json::Value;
use thiserror::Error;

use crate::compat::entropy_recipe;
use crate::extract::extract;
use crate::gold::Gold;
use crate::options::Options;
use crate::verdict::{Reward, Verdict};

/// Error that stopped the grading.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GradeError {
    /// A line is not a JSON object.
    #[error("line {line}: expected a JSON object with `response` and `ground_truth`: {complaint}")]
    Json {
        /// Line number, from 1.
        line: usize,
        /// The parser's error.
        complaint: serde_json::Error,
    },
    /// A field is absent or of the wrong type.
    #[error("line {line}: field `{field}` is {found}, expected {expected}")]
    Field {
        /// Line number, from 1.
        line: usize,
        /// Name of the field.
        field: String,
        /// Value found, in words.
        found: &'static str,
        /// Expected value, in words.
        expected: &'static str,
    },
    /// Reading or writing failed.
    #[error("line {line}: reading or writing failed")]
    Io {
        /// Line number, from 1.
        line: usize,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Number of rows of each verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Right answers.
    pub right: usize,
    /// Wrong answers.
    pub wrong: usize,
    /// Rows where an answer could not be read.
    pub unparsed: usize,
    /// Bad lines.
    pub skipped: usize,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Right { .. } => self.right += 1,
            Verdict::Wrong { .. } => self.wrong += 1,
            Verdict::Unparsed { .. } => self.unparsed += 1,
        }
    }
}

/// Treatment of a bad line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BadRow {
    /// Stops with its error; the rows before it are written.
    #[default]
    Stop,
    /// Reports it and continues with the next.
    Skip,
}

/// Settings for reading and grading rows.
#[derive(Debug, Clone)]
pub struct Grading {
    /// Rules for extracting an answer.
    pub options: Options,
    /// Reward of each verdict.
    pub reward: Reward,
    /// Field of the model's text.
    pub response_key: String,
    /// Field of the ground truth; `None` takes `ground_truth`, else `answer`.
    pub answer_key: Option<String>,
    /// Field of the question, whose repetition in a response is ignored; `None` takes the first of `question`,
    /// `problem` and `prompt` that is a string.
    pub question_key: Option<String>,
    /// Treatment of a bad line.
    pub bad_row: BadRow,
    /// Grades by [`entropy_recipe`], the grader of the recipe, which ignores `options` and the question.
    pub compat: bool,
}

impl Default for Grading {
    fn default() -> Self {
        Self {
            options: Options::default(),
            reward: Reward::default(),
            response_key: "response".to_owned(),
            answer_key: None,
            question_key: None,
            bad_row: BadRow::Stop,
            compat: false,
        }
    }
}

/// A response and its first ground truth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Text of the model.
    pub response: String,
    /// Text of the ground truth.
    pub ground_truth: String,
    /// True if the response is known to be right, `None` if nothing is known.
    pub label: Option<bool>,
}

/// Reads the rows of a file as [`grade`] does; `label_key` names the field of the label.
///
/// Without it, the first of `label`, `expected` and `correct` that is true or false counts.
///
/// # Errors
///
/// [`GradeError`] if reading fails, or at the first bad line.
pub fn read_rows(
    input: impl BufRead,
    grading: &Grading,
    label_key: Option<&str>,
) -> Result<Vec<Row>, GradeError> {
    let mut rows = Vec::new();
    for row in lines(input) {
        let (line, row) = row?;
        let Some(fields) = fields_of(&row, line)? else { continue };
        let response = text(&fields, &grading.response_key, line)?;
        let ground_truth = gold_of(&fields, line, grading)?.swap_remove(0);
        let flag = |key: &str| fields.get(key).and_then(Value::as_bool);
        let label = match label_key {
            Some(key) => flag(key),
            None => ["label", "expected", "correct"].into_iter().find_map(flag),
        };
        rows.push(Row { response, ground_truth, label });
    }
    Ok(rows)
}

/// Fields of a row.
type Fields = serde_json::Map<String, Value>;

/// Returns numbered lines as bytes, so that a line which is not UTF-8 is a bad line and does not end the input.
fn lines(input: impl BufRead) -> impl Iterator<Item = Result<(usize, Vec<u8>), GradeError>> {
    (1..).zip(input.split(b'\n')).map(|(line, row)| {
        let mut row = row.map_err(|source| GradeError::Io { line, source })?;
        // Some programs begin a file with a byte-order mark.
        if line == 1 && row.starts_with(b"\xef\xbb\xbf") {
            row.drain(..3);
        }
        Ok((line, row))
    })
}

/// Returns the fields of a line; `None` if it is blank.
fn fields_of(row: &[u8], line: usize) -> Result<Option<Fields>, GradeError> {
    if row.trim_ascii().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(row).map(Some).map_err(|complaint| GradeError::Json { line, complaint })
}

/// Returns the ground truths: one, or those of an array, which is not empty.
fn gold_of(fields: &Fields, line: usize, grading: &Grading) -> Result<Vec<String>, GradeError> {
    let field = match &grading.answer_key {
        Some(key) => key,
        None if fields.contains_key("ground_truth") => "ground_truth",
        None => "answer",
    };
    let one = |value: &Value| {
        plain(Some(value)).map_err(|_| wrong_type(field, line, "an array with other values"))
    };
    match fields.get(field) {
        Some(Value::Array(values)) if values.is_empty() => {
            Err(wrong_type(field, line, "an empty array"))
        }
        Some(Value::Array(values)) => values.iter().map(one).collect(),
        _ => Ok(vec![text(fields, field, line)?]),
    }
}

/// Number of rows graded in parallel; memory holds no more.
const ROWS_AT_ONCE: usize = 2048;

/// Grades each row `{"response": …, "ground_truth" | "answer": …, …}` on all threads of the current pool.
///
/// A row keeps its fields and gains `verdict`, `how` or `which` and `why`, `reward` and `extracted`. Rows keep their
/// order, and nothing depends on the number of threads. `report` receives every bad line that is skipped, and the
/// counts so far after every block of rows.
///
/// # Errors
///
/// [`GradeError`] if reading or writing fails, or at the first bad line unless these are skipped. Earlier rows are
/// written.
pub fn grade(
    input: impl BufRead,
    output: &mut impl Write,
    grading: &Grading,
    mut report: impl FnMut(Progress<'_>),
) -> Result<Counts, GradeError> {
    let mut counts = Counts::default();
    let mut lines = lines(input);
    // A blank line has no verdict.
    let grade_line = |numbered: Result<(usize, Vec<u8>), GradeError>| {
        let (line, row) = numbered?;
        let Some(fields) = fields_of(&row, line)? else { return Ok(None) };
        let (added, verdict) = grade_row(&fields, line, grading)?;
        Ok(Some((line, with_fields(&row, fields, added), verdict)))
    };
    loop {
        let rows: Vec<_> = lines.by_ref().take(ROWS_AT_ONCE).collect();
        let last = rows.len() < ROWS_AT_ONCE;
        let graded: Vec<_> = rows.into_par_iter().map(grade_line).collect();
        for row in graded {
            match row {
                Ok(None) => {}
                Ok(Some((line, graded, verdict))) => {
                    counts.add(&verdict);
                    writeln!(output, "{graded}")
                        .map_err(|source| GradeError::Io { line, source })?;
                }
                Err(error @ GradeError::Io { .. }) => return Err(error),
                Err(error) if grading.bad_row == BadRow::Skip => {
                    counts.skipped += 1;
                    report(Progress::BadRow(&error));
                }
                Err(error) => return Err(error),
            }
        }
        report(Progress::Rows(&counts));
        if last {
            return Ok(counts);
        }
    }
}

/// Events of a running grading.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A line that was skipped.
    BadRow(&'a GradeError),
    /// Counts of the rows graded so far.
    Rows(&'a Counts),
}

/// Returns the row in its own order with fields added at its end; fields of the same names are replaced.
fn with_fields(row: &[u8], mut fields: Fields, added: Vec<(&str, Value)>) -> String {
    let replaces = added.iter().any(|(name, _)| fields.contains_key(*name));
    let written = std::str::from_utf8(row).ok().and_then(|row| row.trim().strip_suffix('}'));
    match written {
        Some(written) if !replaces => {
            let mut line = written.trim_end().to_owned();
            for (name, value) in added {
                line.extend([",", &Value::from(name).to_string(), ":", &value.to_string()]);
            }
            line + "}"
        }
        _ => {
            fields.extend(added.into_iter().map(|(name, value)| (name.to_owned(), value)));
            Value::Object(fields).to_string()
        }
    }
}

/// Fields added to a row, and its verdict.
type Added = (Vec<(&'static str, Value)>, Verdict);

fn grade_row(fields: &Fields, line: usize, grading: &Grading) -> Result<Added, GradeError> {
    let response = text(fields, &grading.response_key, line)?;
    let ground_truths = gold_of(fields, line, grading)?;
    let question = match &grading.question_key {
        Some(key) => Some(text(fields, key, line)?),
        None => ["question", "problem", "prompt"]
            .iter()
            .find_map(|key| fields.get(*key)?.as_str().map(str::to_owned)),
    };
    let judge = |ground_truth: &String| {
        if grading.compat {
            let score = entropy_recipe(&response, ground_truth);
            return (score.extracted, score.verdict);
        }
        let (extracted, verdict) = match Gold::parse(ground_truth, &grading.options) {
            Ok(gold) => {
                let gold = question.iter().fold(gold, |gold, question| gold.asked(question));
                (gold.extract(&response), gold.verify(&response))
            }
            Err(why) => (extract(&response, &grading.options), Verdict::of_faulty_gold(why)),
        };
        (extracted.map(|answer| answer.text), verdict)
    };
    // One of several ground truths is enough; else the verdict on the first stands. Of equals the last is taken.
    let scores = ground_truths.iter().rev().map(judge);
    let best = scores.max_by_key(|(_, verdict)| verdict.is_right());
    let (extracted, verdict) = best.expect("an empty list is an error");
    let mut added = match &verdict {
        Verdict::Right { how } => vec![("verdict", "right".into()), ("how", named(how))],
        Verdict::Wrong { how } => vec![("verdict", "wrong".into()), ("how", named(how))],
        Verdict::Unparsed { which, why } => vec![
            ("verdict", "unparsed".into()),
            ("which", named(which)),
            ("why", Value::String(why.to_string())),
        ],
    };
    added.push(("reward", grading.reward.of(&verdict).into()));
    added.push(("extracted", extracted.map_or(Value::Null, Value::String)));
    Ok((added, verdict))
}

fn named(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

fn wrong_type(field: &str, line: usize, found: &'static str) -> GradeError {
    let expected = "a string or a number";
    GradeError::Field { line, field: field.to_owned(), found, expected }
}

fn text(fields: &Fields, field: &str, line: usize) -> Result<String, GradeError> {
    plain(fields.get(field)).map_err(|found| wrong_type(field, line, found))
}

/// Returns a string, or a number as written.
///
/// The error is the type of another value, in words.
fn plain(value: Option<&Value>) -> Result<String, &'static str> {
    Err(match value {
        Some(Value::String(text)) => return Ok(text.clone()),
        Some(Value::Number(number)) => return Ok(number.to_string()),
        None => "absent",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    })
}
