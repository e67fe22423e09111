//! What is wrong with a file of questions, before a run is spent on it.
//!
//! | finding | rule |
//! |---|---|
//! | unusable rows, unreadable answers | as at load time, each by the kind of its source: [`read_rows_for`] |
//! | exact duplicates | the same text |
//! | same question | [`symbols_key`] is the same; conflicting where the verifier holds two answers apart |
//! | signs apart | [`letters_key`] is the same, [`symbols_key`] is not: mostly different questions, worth a look |
//! | overlap | [`Overlap`] |
//! | broken escapes | a control character, as `\f` left of `\frac` by a careless writer of JSON, or U+FFFD |
//! | scripts, boilerplate | [`Script`], [`Phrase`] |

mod answers;
mod lengths;
mod overlap;
mod phrases;
mod repeats;
mod scripts;
mod table;

use serde::Serialize;

pub use answers::AnswerKinds;
pub use lengths::{LengthError, LengthUnit, Lengths};
pub use overlap::{Overlap, OverlapPair};
pub use phrases::{Phrase, PhrasePlace};
pub use repeats::{Conflict, Repeats};
pub use scripts::{Script, ScriptRows};

use crate::dataset::{
    BadRows, DatasetError, Duplicates, Question, QuestionFile, ReadRow, ReadRows, RowProblem,
    read_rows_for,
};
use crate::ground_truth::RewardKinds;
#[cfg(doc)]
use crate::question_key::{letters_key, symbols_key};

/// Most rows that a refusal lists.
const REFUSED_ROWS: usize = 10;

/// What a check looks at beside the file itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckOptions<'a> {
    /// How long a question is.
    pub unit: LengthUnit<'a>,
    /// Longest question, in that unit; 0 is no limit.
    pub max_length: usize,
    /// Questions that must not be trained on.
    pub against: Option<&'a QuestionFile>,
    /// What the answers are, by the source of their question; all mathematics where it is absent.
    pub kinds: Option<&'a RewardKinds>,
}

/// Everything that was found in one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataReport {
    /// The file.
    pub file: String,
    /// Columns of question and answer.
    pub layout: String,
    /// Rows, good and bad.
    pub rows: usize,
    /// Rows that are questions.
    pub questions: usize,
    /// Rows that are none, and why.
    pub unusable: Vec<RowFinding>,
    /// Rows whose answer is there but cannot be read: no response could be right.
    pub unreadable_answers: Vec<RowFinding>,
    /// Rows that share their name with an earlier one.
    pub repeated_ids: usize,
    /// Lengths of the questions; absent where there are none.
    pub lengths: Option<Lengths>,
    /// What the answers look like.
    pub answers: AnswerKinds,
    /// The same text, character for character.
    pub exact_duplicates: Repeats,
    /// The same question, whatever its typesetting.
    pub same_question: Repeats,
    /// Of these, those with answers that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Equal but for signs such as `+` and `-`.
    pub signs_apart: Repeats,
    /// Rows with a control character where a backslash and a letter stood, or with a character that was lost.
    pub broken_escapes: Vec<usize>,
    /// Scripts other than Latin and Greek.
    pub scripts: Vec<ScriptRows>,
    /// Beginnings and endings that many questions share, and phrases that ask for a form of answer.
    pub phrases: Vec<Phrase>,
    /// Shared with the questions that must not be trained on.
    pub overlap: Option<Overlap>,
}

/// One row and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowFinding {
    /// Line or row of the file, counted from 1.
    pub row: usize,
    /// What is wrong.
    pub problem: String,
}

/// A question and where it stands.
#[derive(Debug, Clone, Copy)]
struct Placed<'a> {
    row: usize,
    question: &'a Question,
}

/// Reads a file and looks for everything in the table above.
///
/// `limit` of the file holds; its rules for bad and repeated rows do not: all are reported.
///
/// # Errors
///
/// [`LengthError`] where a file cannot be read at all or the tokenizer refuses.
pub fn check_data(
    file: &QuestionFile,
    options: CheckOptions<'_>,
) -> Result<DataReport, LengthError> {
    let mathematics = RewardKinds::default();
    let kinds = options.kinds.unwrap_or(&mathematics);
    let ReadRows { layout, rows } = read_rows_for(file, kinds)?;
    let questions = placed(&rows);
    let texts: Vec<String> = questions.iter().map(|placed| placed.question.text()).collect();
    let overlap = match options.against {
        Some(against) => Some(overlap::overlap(&questions, &texts, against, kinds)?),
        None => None,
    };
    let (exact_duplicates, same_question, conflicts, signs_apart) =
        repeats::repeats(&questions, &texts, kinds);
    let findings = |wanted: fn(&RowProblem) -> bool| -> Vec<RowFinding> {
        rows.iter().filter_map(|row| finding(row, wanted)).collect()
    };
    Ok(DataReport {
        file: file.path.display().to_string(),
        layout: layout.to_string(),
        rows: rows.len(),
        questions: questions.len(),
        unusable: findings(|problem| !is_answer(problem)),
        unreadable_answers: findings(is_answer),
        repeated_ids: repeated_ids(&questions),
        lengths: lengths::lengths(&texts, options.unit, options.max_length)?,
        answers: answers::answer_kinds(&questions),
        exact_duplicates,
        same_question,
        conflicts,
        signs_apart,
        broken_escapes: questions
            .iter()
            .zip(&texts)
            .filter(|(_, text)| has_broken_escape(text))
            .map(|(placed, _)| placed.row)
            .collect(),
        scripts: scripts::scripts(&questions, &texts),
        phrases: phrases::phrases(&questions, &texts),
        overlap,
    })
}

impl DataReport {
    /// Why a run refuses the file, under the rules of `file`; `None` where it starts.
    pub fn refusal(&self, file: &QuestionFile) -> Option<String> {
        let Self { file: name, rows, .. } = self;
        let bad = self.unusable.iter().chain(&self.unreadable_answers);
        let mut invalid: Vec<usize> = bad.map(|finding| finding.row).collect();
        invalid.sort_unstable();
        if file.bad_rows == BadRows::Error && !invalid.is_empty() {
            let (count, list) = (invalid.len(), table::some(&invalid, REFUSED_ROWS));
            let named = if count == 1 { "row" } else { "rows" };
            return Some(format!(
                "{name}: {count} of {rows} rows are invalid, {named} {list}: a run refuses the file, unless \
                 data.train.file.bad_rows is \"drop\""
            ));
        }
        if self.questions == 0 {
            return Some(format!("{name}: no questions, expected at least one"));
        }
        let repeated = &self.same_question.groups;
        if file.duplicates == Duplicates::Error && !repeated.is_empty() {
            let list: Vec<String> =
                repeated.iter().take(REFUSED_ROWS).map(|group| table::equal(group)).collect();
            let more = if repeated.len() > REFUSED_ROWS { ", …" } else { "" };
            return Some(format!(
                "{name}: {} questions stand there more than once, rows {}{more}: a run refuses the file where \
                 duplicates is \"error\"",
                repeated.len(),
                list.join(", ")
            ));
        }
        None
    }

    /// Whether nothing was found that makes rewards wrong or evaluation unfair: bad rows, broken escapes,
    /// contradictions, overlap.
    pub fn is_clean(&self) -> bool {
        self.unusable.is_empty()
            && self.unreadable_answers.is_empty()
            && self.conflicts.is_empty()
            && self.broken_escapes.is_empty()
            && self.overlap.as_ref().is_none_or(|overlap| overlap.rows_to_drop.is_empty())
    }
}

fn placed(rows: &[ReadRow]) -> Vec<Placed<'_>> {
    let good = rows.iter().filter_map(|row| Some((row.place, row.question.as_ref().ok()?)));
    good.map(|(place, question)| Placed { row: place.number(), question }).collect()
}

fn finding(row: &ReadRow, wanted: fn(&RowProblem) -> bool) -> Option<RowFinding> {
    let problem = row.question.as_ref().err().filter(|problem| wanted(problem))?;
    Some(RowFinding { row: row.place.number(), problem: problem.to_string() })
}

/// `\frac`, `\boxed`, `\times` and the like after `\f`, `\b` and `\t` were taken for escapes of JSON; U+FFFD.
fn has_broken_escape(text: &str) -> bool {
    const AFTER_TAB: [&str; 5] = ["\text", "\times", "\theta", "\triangle", "\tfrac"];
    let odd = |c: char| c == '\u{fffd}' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    text.contains(odd) || AFTER_TAB.iter().any(|word| text.contains(word))
}

fn repeated_ids(questions: &[Placed<'_>]) -> usize {
    let mut seen = std::collections::HashSet::new();
    questions.iter().filter(|placed| !seen.insert(placed.question.id.as_str())).count()
}

/// Whether a row has an answer, but one that cannot be used.
fn is_answer(problem: &RowProblem) -> bool {
    matches!(problem, RowProblem::Answer { .. } | RowProblem::Tests { .. })
}
