//! Reads the questions of a file, under the rules for bad rows and duplicates.

use std::iter::once;
use std::path::PathBuf;

use code_sandbox::UnitTests;
use reward_math::Options;

use super::row::RawRow;
use super::rows::rows;
use super::{
    BadRow, BadRows, DatasetError, Duplicates, Layout, Question, QuestionFile, RowPlace, RowProblem,
};
use crate::ground_truth::{RewardKind, RewardKinds, accepted};
use crate::question_key::{equal_keys, symbols_key};

/// Questions, and statistics of reading them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionSet {
    /// Questions to ask.
    pub questions: Vec<Question>,
    /// Rows left out by [`BadRows::Drop`].
    pub bad_rows: Vec<BadRow>,
    /// Questions that occur more than once, dropped or not.
    pub repeated: usize,
    /// Repeated questions with different answers.
    pub conflicting: usize,
    /// Rows left out by [`Duplicates::Drop`].
    pub dropped: usize,
}

impl QuestionSet {
    /// Returns warnings about bad and repeated rows, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(first) = self.bad_rows.first() {
            let (count, number) = (self.bad_rows.len(), first.place.number());
            let problem = &first.problem;
            notes.push(format!("{count} bad rows were left out, the first is {number}: {problem}"));
        }
        if self.repeated > 0 {
            let Self { repeated, conflicting, dropped, .. } = self;
            notes.push(format!(
                "{repeated} questions stand there more than once, {conflicting} of them with different answers; \
                 {dropped} rows were left out for it"
            ));
        }
        notes
    }
}

/// One row of a file: its place, and the question with a readable answer, or why there is none.
type ReadRow = (RowPlace, Result<Question, RowProblem>);

/// Reads the columns of a file and all its rows in order, each answer by the kind of its source; a bad row is not an error here, and
/// blank lines do not count.
///
/// Reading stops after `limit` good rows. [`QuestionFile::bad_rows`] and [`QuestionFile::duplicates`] are not applied.
pub(crate) fn read_rows(
    file: &QuestionFile,
    kinds: &RewardKinds,
) -> Result<(Layout, Vec<ReadRow>), DatasetError> {
    let path = &file.path;
    let stem = file.stem();
    let limit = if file.limit == 0 { usize::MAX } else { file.limit };
    let mut layout: Option<Layout> = None;
    let mut read: Vec<ReadRow> = Vec::new();
    let mut good = 0;
    for row in all_rows(file.files()) {
        if good == limit {
            break;
        }
        let (place, row) = row?;
        let question = match (row, &mut layout) {
            (Err(problem), _) => Err(problem),
            (Ok(row), Some(layout)) => layout.question(&row, place, &stem, kinds),
            (Ok(row), unknown) => {
                let layout = Layout::recognise(file, &row).map_err(|problem| {
                    DatasetError::Columns { path: path.clone(), place, problem }
                })?;
                unknown.insert(layout).question(&row, place, &stem, kinds)
            }
        };
        let question = question.and_then(|question| readable(question, kinds));
        good += usize::from(question.is_ok());
        read.push((place, question));
    }
    match layout {
        Some(layout) => Ok((layout, read)),
        None if read.is_empty() => Err(DatasetError::empty(path)),
        None => {
            let count = read.len();
            let bad = |(place, question): ReadRow| Some(BadRow { place, problem: question.err()? });
            let rows = read.into_iter().filter_map(bad).collect();
            Err(DatasetError::Rows { path: path.clone(), rows, count })
        }
    }
}

/// The rows of several files, numbered through.
fn all_rows(files: &[PathBuf]) -> impl Iterator<Item = Result<RawRow, DatasetError>> + use<'_> {
    let of_file = |(index, path): (usize, &PathBuf)| {
        let rows = rows(path).unwrap_or_else(|error| Box::new(once(Err(error))));
        rows.map(move |row| (index, row))
    };
    let (mut file, mut before, mut last) = (0, 0, 0);
    files.iter().enumerate().flat_map(of_file).map(move |(index, row)| {
        let (place, row) = row?;
        if index != file {
            (file, before) = (index, last);
        }
        let place = place.after(before);
        last = place.number();
        Ok((place, row))
    })
}

/// Reads the questions of a file, each answer by the kind of its source.
///
/// [`Layout`] lists the columns that are recognised; a solution in GSM8K's raw form (`… #### N`) gives `N`. An answer
/// of mathematics must be one that [`reward_math::Gold`] reads: no response to it could be right otherwise. `id` defaults to
/// `name-row`, `source` to the file's name up to the first dot.
///
/// # Errors
///
/// [`DatasetError`], which holds all bad rows; a file without questions is an error.
pub fn read_questions(
    file: &QuestionFile,
    kinds: &RewardKinds,
) -> Result<QuestionSet, DatasetError> {
    let (_, rows) = read_rows(file, kinds)?;
    let (path, row_count) = (&file.path, rows.len());
    let mut places = Vec::with_capacity(row_count);
    let mut set = QuestionSet::default();
    for (place, question) in rows {
        match question {
            Ok(question) => {
                places.push(place);
                set.questions.push(question);
            }
            Err(problem) => set.bad_rows.push(BadRow { place, problem }),
        }
    }
    if !set.bad_rows.is_empty() && file.bad_rows == BadRows::Error {
        return Err(DatasetError::Rows {
            path: path.clone(),
            rows: set.bad_rows,
            count: row_count,
        });
    }
    if set.questions.is_empty() {
        return Err(DatasetError::empty(path));
    }
    let keys: Vec<String> =
        set.questions.iter().map(|question| symbols_key(&question.text())).collect();
    let repeated = equal_keys(&keys);
    drop(keys);
    let conflicts = |group: &Vec<usize>| {
        let first = &set.questions[group[0]];
        group.iter().any(|&row| !same_answer(&set.questions[row], first, kinds))
    };
    let conflicting: Vec<bool> = repeated.iter().map(conflicts).collect();
    set.repeated = repeated.len();
    set.conflicting = conflicting.iter().filter(|&&conflict| conflict).count();
    match file.duplicates {
        Duplicates::Keep => {}
        Duplicates::Error if repeated.is_empty() => {}
        Duplicates::Error => {
            let rows = |group: &Vec<usize>| group.iter().map(|&row| places[row]).collect();
            let groups = repeated.iter().map(rows).collect();
            return Err(DatasetError::Duplicates { path: path.clone(), groups });
        }
        Duplicates::Drop => {
            let mut kept = vec![true; set.questions.len()];
            for (group, conflict) in repeated.iter().zip(conflicting) {
                for &row in &group[usize::from(!conflict)..] {
                    kept[row] = false;
                }
            }
            let mut flags = kept.into_iter();
            let before = set.questions.len();
            set.questions.retain(|_| flags.next().unwrap_or(true));
            set.dropped = before - set.questions.len();
            if set.questions.is_empty() {
                return Err(DatasetError::empty(path));
            }
        }
    }
    Ok(set)
}

/// Returns true if the verifier takes two answers for equal: in mathematics `025` and `25`, or `1/2` and `0.5`.
pub(crate) fn same_answer(left: &Question, right: &Question, kinds: &RewardKinds) -> bool {
    let right_by_left = || {
        let truth = kinds.of(&left.source).read(&left.answer, &Options::default());
        let answers = accepted(&right.answer).unwrap_or_else(|| vec![right.answer.clone()]);
        truth.is_ok_and(|truth| answers.iter().any(|answer| truth.verify_answer(answer).is_right()))
    };
    left.answer == right.answer || right_by_left()
}

/// Refuses an answer that no response could match, or only its exact spelling.
fn readable(question: Question, kinds: &RewardKinds) -> Result<Question, RowProblem> {
    let kind = kinds.of(&question.source);
    let answer = &question.answer;
    let fault = if kind == RewardKind::Code {
        UnitTests::read(answer).err().map(|why| RowProblem::Tests { why })
    } else {
        let unread = |why| RowProblem::Answer { answer: answer.clone(), why };
        kind.check(answer).err().map(unread)
    };
    fault.map_or(Ok(question), Err)
}
