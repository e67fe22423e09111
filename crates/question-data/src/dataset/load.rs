//! Reads the questions of a file, under the rules for bad rows and duplicates.

use code_sandbox::UnitTests;
use reward_math::Options;
use whole_file::FileError;

use super::error::{bad_rows, no_questions, repeated};
use super::rows::read_rows_of;
use super::{BadRow, BadRows, Duplicates, Layout, Question, QuestionFile, RowPlace, RowProblem};
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
/// blank lines do not count. Rows of several files are numbered through.
///
/// Reading stops after `limit` good rows. [`QuestionFile::bad_rows`] and [`QuestionFile::duplicates`] are not applied.
pub(crate) fn read_rows(
    file: &QuestionFile,
    kinds: &RewardKinds,
) -> Result<(Layout, Vec<ReadRow>), FileError> {
    let path = &file.path;
    let stem = file.stem();
    let limit = if file.limit == 0 { usize::MAX } else { file.limit };
    let mut layout: Option<Layout> = None;
    let mut read: Vec<ReadRow> = Vec::new();
    let (mut good, mut last) = (0, 0);
    for one in file.files() {
        let before = last;
        let goes_on = read_rows_of(one, &mut |place, row| {
            let place = place.after(before);
            last = place.number();
            let question = match row {
                Err(problem) => Err(problem),
                Ok(row) => {
                    if layout.is_none() {
                        layout = Some(Layout::recognise(file, &row).map_err(|problem| {
                            BadRow { place, problem: RowProblem::new(problem) }.error(path)
                        })?);
                    }
                    let layout = layout.as_ref().expect("it was recognised in the first row");
                    layout.question(&row, place, &stem, kinds)
                }
            };
            let question = question.and_then(|question| readable(question, kinds));
            good += usize::from(question.is_ok());
            read.push((place, question));
            Ok(good < limit)
        })?;
        if !goes_on {
            break;
        }
    }
    match layout {
        Some(layout) => Ok((layout, read)),
        None if read.is_empty() => Err(no_questions(path)),
        None => {
            let count = read.len();
            let bad = |(place, question): ReadRow| Some(BadRow { place, problem: question.err()? });
            let rows: Vec<BadRow> = read.into_iter().filter_map(bad).collect();
            Err(bad_rows(path, &rows, count))
        }
    }
}

/// Reads the questions of a file, each answer by the kind of its source.
///
/// [`Layout`] lists the columns that are recognised; a solution in GSM8K's raw form (`… #### N`) gives `N`. An answer
/// of mathematics must be one that [`reward_math::Gold`] reads: no response to it could be right otherwise. `id` defaults to
/// `name-row`, `source` to the file's name up to the first dot.
///
/// # Errors
///
/// [`FileError`], which lists all bad rows; a file without questions is an error.
pub fn read_questions(file: &QuestionFile, kinds: &RewardKinds) -> Result<QuestionSet, FileError> {
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
        return Err(bad_rows(path, &set.bad_rows, row_count));
    }
    if set.questions.is_empty() {
        return Err(no_questions(path));
    }
    let keys: Vec<String> =
        set.questions.iter().map(|question| symbols_key(&question.text())).collect();
    let repeats = equal_keys(&keys);
    drop(keys);
    let conflicts = |group: &Vec<usize>| {
        let first = &set.questions[group[0]];
        group.iter().any(|&row| !same_answer(&set.questions[row], first, kinds))
    };
    let conflicting: Vec<bool> = repeats.iter().map(conflicts).collect();
    set.repeated = repeats.len();
    set.conflicting = conflicting.iter().filter(|&&conflict| conflict).count();
    match file.duplicates {
        Duplicates::Keep => {}
        Duplicates::Error if repeats.is_empty() => {}
        Duplicates::Error => {
            let rows = |group: &Vec<usize>| group.iter().map(|&row| places[row]).collect();
            return Err(repeated(path, &repeats.iter().map(rows).collect::<Vec<_>>()));
        }
        Duplicates::Drop => {
            let mut kept = vec![true; set.questions.len()];
            for (group, conflict) in repeats.iter().zip(conflicting) {
                for &row in &group[usize::from(!conflict)..] {
                    kept[row] = false;
                }
            }
            let mut flags = kept.into_iter();
            let before = set.questions.len();
            set.questions.retain(|_| flags.next().unwrap_or(true));
            set.dropped = before - set.questions.len();
            if set.questions.is_empty() {
                return Err(no_questions(path));
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
        UnitTests::read(answer).err().map(|why| format!("the tests cannot be read: {why}"))
    } else {
        kind.check(answer).err().map(|why| {
            format!(
                "answer {answer:?} cannot be read: {why}, expected one that reward-math can compare"
            )
        })
    };
    fault.map_or(Ok(question), |words| Err(RowProblem::of_answer(words)))
}
