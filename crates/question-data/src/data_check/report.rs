use serde::Serialize;

use super::overlap::Overlap;
use super::phrases::Phrase;
use super::repeats::{Conflict, Repeats};
use super::statistics::{AnswerKinds, Lengths, ScriptRows};
use crate::dataset::{BadRows, Duplicates, QuestionFile};

/// Largest number of rows listed in a refusal.
const REFUSED_ROWS: usize = 10;

/// All findings in one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataReport {
    /// Path of the file.
    pub file: String,
    /// Columns of question and answer.
    pub layout: String,
    /// Rows, good and bad.
    pub rows: usize,
    /// Rows that are questions.
    pub questions: usize,
    /// Rows that are no questions, and why.
    pub unusable: Vec<RowFinding>,
    /// Rows whose answer exists but cannot be read: no response could be right.
    pub unreadable_answers: Vec<RowFinding>,
    /// Rows with the `id` of an earlier row.
    pub repeated_ids: usize,
    /// Lengths of the questions; absent if there are none.
    pub lengths: Option<Lengths>,
    /// Statistics of the answers.
    pub answers: AnswerKinds,
    /// Questions with exactly equal text.
    pub exact_duplicates: Repeats,
    /// Questions that are equal except for typesetting.
    pub same_question: Repeats,
    /// Equal questions with contradicting answers.
    pub conflicts: Vec<Conflict>,
    /// Questions that are equal except for signs such as `+` and `-`.
    pub signs_apart: Repeats,
    /// Rows with a control character in place of a backslash and a letter, or with U+FFFD.
    pub broken_escapes: Vec<usize>,
    /// Scripts other than Latin and Greek.
    pub scripts: Vec<ScriptRows>,
    /// Beginnings and endings that many questions share, and phrases that ask for a form of answer.
    pub phrases: Vec<Phrase>,
    /// Overlap with the questions that must not be trained on.
    pub overlap: Option<Overlap>,
}

/// One row and its problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowFinding {
    /// Line or row of the file, counted from 1.
    pub row: usize,
    /// Problem of the row.
    pub problem: String,
}

impl DataReport {
    /// Returns why a run refuses the file under the rules of `file`; `None` if it accepts it.
    pub fn refusal(&self, file: &QuestionFile) -> Option<String> {
        let Self { file: name, rows, .. } = self;
        let bad = self.unusable.iter().chain(&self.unreadable_answers);
        let mut invalid: Vec<usize> = bad.map(|finding| finding.row).collect();
        invalid.sort_unstable();
        if file.bad_rows == BadRows::Error && !invalid.is_empty() {
            let (count, list) = (invalid.len(), some(&invalid, REFUSED_ROWS));
            let named = if count == 1 { "row" } else { "rows" };
            return Some(format!(
                "{name}: {count} of {rows} rows are invalid, {named} {list}: a run refuses the file, unless \
                 data.train.file.bad_rows is \"drop\""
            ));
        }
        let left = match file.duplicates {
            // Of a contradiction, the first row goes too.
            Duplicates::Drop => {
                self.questions - self.same_question.surplus_rows() - self.conflicts.len()
            }
            Duplicates::Keep | Duplicates::Error => self.questions,
        };
        if left == 0 {
            return Some(format!("{name}: no questions, expected at least one"));
        }
        let repeated = &self.same_question.groups;
        if file.duplicates == Duplicates::Error && !repeated.is_empty() {
            let list: Vec<String> =
                repeated.iter().take(REFUSED_ROWS).map(|group| equal(group)).collect();
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

    /// Returns true if nothing was found that makes rewards wrong or evaluation unfair.
    ///
    /// Such findings are bad rows, broken escapes, contradictions and overlap.
    pub fn is_clean(&self) -> bool {
        self.unusable.is_empty()
            && self.unreadable_answers.is_empty()
            && self.conflicts.is_empty()
            && self.broken_escapes.is_empty()
            && self.overlap.as_ref().is_none_or(|overlap| overlap.rows_to_drop.is_empty())
    }
}

/// Rows that hold the same.
pub(super) fn equal(rows: &[usize]) -> String {
    let rows: Vec<String> = rows.iter().map(usize::to_string).collect();
    rows.join(" = ")
}

/// The first `most` of the rows.
pub(super) fn some(rows: &[usize], most: usize) -> String {
    let shown: Vec<String> = rows.iter().take(most).map(usize::to_string).collect();
    shown.join(", ") + if rows.len() > most { ", …" } else { "" }
}
