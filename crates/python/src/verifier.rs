//! `reward-math` in Python: one verdict, or a batch on threads.

use std::ops::Range;

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use rayon::prelude::*;
use reward_math::{Gold, Options, Reward, Side};
use serde::Serialize;

use crate::error::value_error;
use crate::repr::attributes;

/// Outcome of one verification; true if the response is right.
///
/// Attributes
/// ----------
/// verdict: "right", "wrong" or "unparsed".
/// is_right: True if the verdict is "right".
/// rung: the deciding step, such as "spelling", "number", "normal-form"; None if unparsed.
/// response, ground_truth: both sides in normal form; None without explained=True.
/// which: the unreadable side, "response" or "ground-truth"; None if decided.
/// why: reason that this side is unreadable; None if decided.
#[pyclass(frozen, eq, module = "entropy_rl")]
#[derive(PartialEq)]
pub(crate) struct Verdict(reward_math::Verdict);

attributes! { Verdict, self: {
    verdict: &'static str = match self.0 {
        reward_math::Verdict::Right { .. } => "right",
        reward_math::Verdict::Wrong { .. } => "wrong",
        reward_math::Verdict::Unparsed { .. } => "unparsed",
    };
    is_right: bool = self.0.is_right();
    rung: Option<String> = self.0.how().and_then(|how| named(&how.rung));
    response: Option<&str> = self.0.how().and_then(|how| how.response.as_deref());
    ground_truth: Option<&str> = self.0.how().and_then(|how| how.ground_truth.as_deref());
    which: Option<String> = match &self.0 {
        reward_math::Verdict::Unparsed { which, .. } => named(which),
        _ => None,
    };
    why: Option<String> = match &self.0 {
        reward_math::Verdict::Unparsed { why, .. } => Some(why.to_string()),
        _ => None,
    };
}
    fn __bool__(&self) -> bool {
        self.is_right()
    }

    fn __repr__(&self) -> String {
        let because = self.rung().map(|rung| format!(", rung='{rung}'"));
        let unread = || Some(format!(", which='{}', why='{}'", self.which()?, self.why()?));
        let rest = because.or_else(unread).unwrap_or_default();
        format!("Verdict(verdict='{}'{rest})", self.verdict())
    }
}

/// The name that configurations and JSON give a variant.
fn named(variant: &impl Serialize) -> Option<String> {
    serde_json::to_value(variant).ok()?.as_str().map(str::to_owned)
}

/// Answer and its position in the response.
///
/// Attributes
/// ----------
/// text: text of the answer, without its box or phrase.
/// rule: kind of its mark: "whole", "box", "tag", "hash-marks", "phrase", "bold", "last-letter", "last-number"
///     or "last-sentence".
/// span: (start, end) in the response, in characters.
#[pyclass(frozen, get_all, eq, module = "entropy_rl")]
#[derive(PartialEq)]
pub(crate) struct Extracted {
    text: String,
    rule: String,
    span: (usize, usize),
}

#[pymethods]
impl Extracted {
    fn __repr__(&self) -> String {
        format!("Extracted(text={:?}, rule='{}', span={:?})", self.text, self.rule, self.span)
    }
}

/// Options of a mode, by its name in `reward-math --mode`.
fn options(mode: &str, fuel: u64) -> PyResult<Options> {
    let options = match mode {
        "marked" => Options::default(),
        "strict" => Options::strict(),
        "lenient" => Options::lenient(),
        _ => {
            let expected = "\"marked\", \"strict\" or \"lenient\"";
            return Err(value_error(format!("`mode` is {mode:?}, expected {expected}")));
        }
    };
    Ok(Options { fuel, ..options })
}

fn verified(
    response: &str,
    ground_truth: &str,
    question: Option<&str>,
    options: &Options,
) -> reward_math::Verdict {
    let gold = match Gold::parse(ground_truth, options) {
        Ok(gold) => gold,
        Err(why) => return reward_math::Verdict::Unparsed { which: Side::GroundTruth, why },
    };
    match question {
        Some(question) => gold.asked(question).verify(response),
        None => gold.verify(response),
    }
}

/// Decide whether a response gives the ground truth.
///
/// mode: accepted forms of an answer. "marked": a box, else `####`, an `<answer>` tag, a phrase such as
///     "the answer is", a last line in bold. "strict": a box only. "lenient": also the last formula or
///     number.
/// question: text of the question; its repetition in the response is ignored, and an answer that only repeats
///     the formula to be calculated is none.
/// fuel: maximum number of steps of the comparison; beyond it, the verdict is "unparsed". It is a count,
///     not a time, so the verdict is the same on every machine.
/// explained: fill `response` and `ground_truth` of the verdict.
///
/// Raises ValueError for another mode.
#[pyfunction]
#[pyo3(signature = (
    response, ground_truth, *, question=None, mode="marked", fuel=Options::default().fuel, explained=false,
))]
pub(crate) fn verify(
    py: Python<'_>,
    response: &str,
    ground_truth: &str,
    question: Option<&str>,
    mode: &str,
    fuel: u64,
    explained: bool,
) -> PyResult<Verdict> {
    let options = Options { normal_forms: explained, ..options(mode, fuel)? };
    Ok(Verdict(py.detach(|| verified(response, ground_truth, question, &options))))
}

/// Verify a batch on threads, without holding the interpreter's lock.
///
/// responses, ground_truths, questions: lists of strings of equal length, one item per response.
/// threads: number of threads; 0 takes one per processor. Verdicts do not depend on it.
///
/// Returns the verdicts in order. Raises ValueError if the lengths differ.
#[pyfunction]
#[pyo3(signature = (
    responses, ground_truths, *, questions=None, mode="marked", fuel=Options::default().fuel,
    explained=false, threads=0,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn verify_many(
    py: Python<'_>,
    responses: Vec<PyBackedStr>,
    ground_truths: Vec<PyBackedStr>,
    questions: Option<Vec<PyBackedStr>>,
    mode: &str,
    fuel: u64,
    explained: bool,
    threads: usize,
) -> PyResult<Vec<Verdict>> {
    let options = Options { normal_forms: explained, ..options(mode, fuel)? };
    let questions = questions.as_deref();
    py.detach(|| map_rows(&responses, &ground_truths, questions, &options, threads, Verdict))
}

/// Compute the rewards of a batch, float64 [responses], by verify_many and a number for each verdict.
///
/// right, wrong, unparsed: reward of each verdict.
/// Other arguments as in verify_many.
#[pyfunction]
#[pyo3(signature = (
    responses, ground_truths, *, questions=None, mode="marked", fuel=Options::default().fuel,
    right=Reward::default().right, wrong=Reward::default().wrong, unparsed=Reward::default().unparsed,
    threads=0,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn grade<'py>(
    py: Python<'py>,
    responses: Vec<PyBackedStr>,
    ground_truths: Vec<PyBackedStr>,
    questions: Option<Vec<PyBackedStr>>,
    mode: &str,
    fuel: u64,
    right: f64,
    wrong: f64,
    unparsed: f64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (options, reward) = (options(mode, fuel)?, Reward { right, wrong, unparsed });
    let (questions, reward) = (questions.as_deref(), |verdict| reward.of(&verdict));
    let rewards =
        py.detach(|| map_rows(&responses, &ground_truths, questions, &options, threads, reward));
    Ok(PyArray1::from_vec(py, rewards?))
}

/// Maps the verdict on every row of columns of one length by `take`, in order.
fn map_rows<T: Send>(
    responses: &[PyBackedStr],
    ground_truths: &[PyBackedStr],
    questions: Option<&[PyBackedStr]>,
    options: &Options,
    threads: usize,
    take: impl Fn(reward_math::Verdict) -> T + Sync,
) -> PyResult<Vec<T>> {
    let expected = responses.len();
    let lengths = [
        ("ground_truths", ground_truths.len()),
        ("questions", questions.map_or(expected, <[_]>::len)),
    ];
    if let Some(&(column, found)) = lengths.iter().find(|(_, length)| *length != expected) {
        return Err(value_error(format!(
            "column `{column}` has {found} entries, `responses` has {expected}"
        )));
    }
    // Each call has its own pool: threads of a shared pool would not exist in a process forked later, which would hang.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let outcome = |index: usize| {
        let question = questions.map(|questions| &*questions[index]);
        take(verified(&responses[index], &ground_truths[index], question, options))
    };
    Ok(pool.install(|| (0..expected).into_par_iter().map(outcome).collect()))
}

/// Extract the answer from a response; None if it has none that mode accepts.
///
/// Arguments as in verify.
#[pyfunction]
#[pyo3(signature = (response, *, question=None, mode="marked"))]
pub(crate) fn extract(
    response: &str,
    question: Option<&str>,
    mode: &str,
) -> PyResult<Option<Extracted>> {
    let options = options(mode, Options::default().fuel)?;
    let answer = match question {
        Some(question) => reward_math::extract_without_echo(response, question, &options),
        None => reward_math::extract(response, &options),
    };
    Ok(answer.map(|answer| Extracted {
        rule: named(&answer.rule).unwrap_or_default(),
        span: in_characters(response, answer.span),
        text: answer.text,
    }))
}

/// Converts a range of bytes of a text to a range of characters.
fn in_characters(text: &str, bytes: Range<usize>) -> (usize, usize) {
    let start = text[..bytes.start].chars().count();
    (start, start + text[bytes].chars().count())
}

/// Describe the extracted answer, the readings of both sides and the deciding step, in lines of text.
#[pyfunction]
#[pyo3(signature = (response, ground_truth, *, mode="marked"))]
pub(crate) fn explain(response: &str, ground_truth: &str, mode: &str) -> PyResult<String> {
    let options = options(mode, Options::default().fuel)?;
    Ok(reward_math::explain(response, ground_truth, &options))
}
