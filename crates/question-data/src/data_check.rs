//! Check of a file of questions for defects, before a run is spent on it.
//!
//! | finding | rule |
//! |---|---|
//! | unusable rows, unreadable answers | as at load time, each by the kind of its source |
//! | exact duplicates | the same text |
//! | same question | [`symbols_key`] is the same; conflicting where the verifier holds two answers apart |
//! | signs apart | [`letters_key`] is the same, [`symbols_key`] is not: mostly different questions, worth a look |
//! | overlap | [`Overlap`] |
//! | broken escapes | a control character, as `\f` left of `\frac` by a careless writer of JSON, or U+FFFD |
//! | scripts, boilerplate | [`ScriptRows`], [`Phrase`] |

mod overlap;
mod phrases;
mod repeats;
mod report;
mod statistics;
mod table;

pub use overlap::{Overlap, OverlapPair};
pub use phrases::{Phrase, PhrasePlace};
pub use repeats::{Conflict, Repeats};
pub use report::{DataReport, RowFinding};
pub use statistics::{AnswerKinds, LengthError, Lengths, ScriptRows};

use statistics::Placed;

use model_files::text_tokenizer::TextTokenizer;

use crate::dataset::{QuestionFile, read_rows};
use crate::ground_truth::RewardKinds;
#[cfg(doc)]
use crate::question_key::{letters_key, symbols_key};

/// Options of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckOptions<'a> {
    /// Tokenizer whose tokens of the bare question, without chat template, are the unit of its length; Unicode characters without.
    pub tokenizer: Option<&'a TextTokenizer>,
    /// Longest question, in that unit; 0 is no limit.
    pub max_length: usize,
    /// Questions that must not be trained on.
    pub against: Option<&'a QuestionFile>,
    /// Kind of the answers for each source of questions; all mathematics if absent.
    pub kinds: Option<&'a RewardKinds>,
}

/// Reads a file and reports every finding of the module's table.
///
/// The `limit` of the file applies. Its rules for bad and repeated rows do not: all are reported.
///
/// # Errors
///
/// [`LengthError`] if a file cannot be read at all, or the tokenizer fails.
pub fn check_data(
    file: &QuestionFile,
    options: CheckOptions<'_>,
) -> Result<DataReport, LengthError> {
    let mathematics = RewardKinds::default();
    let kinds = options.kinds.unwrap_or(&mathematics);
    let (layout, rows) = read_rows(file, kinds)?;
    let (mut questions, mut unusable, mut unreadable_answers) = (vec![], vec![], vec![]);
    for (place, question) in &rows {
        let row = place.number();
        match question {
            Ok(question) => questions.push(Placed { row, question, text: question.text() }),
            Err(problem) => {
                let findings =
                    if problem.has_answer { &mut unreadable_answers } else { &mut unusable };
                findings.push(RowFinding { row, problem: problem.to_string() });
            }
        }
    }
    let against = options.against;
    let overlap = against.map(|file| overlap::overlap(&questions, file, kinds)).transpose()?;
    let (exact_duplicates, same_question, conflicts, signs_apart) =
        repeats::repeats(&questions, kinds);
    let texts = questions.iter().map(|placed| placed.text.as_str());
    let broken = questions.iter().filter(|placed| has_broken_escape(&placed.text));
    Ok(DataReport {
        file: file.path.display().to_string(),
        layout: layout.to_string(),
        rows: rows.len(),
        questions: questions.len(),
        unusable,
        unreadable_answers,
        repeated_ids: repeated_ids(&questions),
        lengths: statistics::lengths(texts, options.tokenizer, options.max_length)?,
        answers: statistics::answer_kinds(&questions),
        exact_duplicates,
        same_question,
        conflicts,
        signs_apart,
        broken_escapes: broken.map(|placed| placed.row).collect(),
        scripts: statistics::scripts(&questions),
        phrases: phrases::phrases(&questions),
        overlap,
    })
}

/// Returns true if a text has a broken escape, or U+FFFD.
///
/// A JSON reader takes the start of `\frac`, `\boxed` or `\times` for the escape `\f`, `\b` or `\t`.
fn has_broken_escape(text: &str) -> bool {
    const AFTER_TAB: [&str; 5] = ["\text", "\times", "\theta", "\triangle", "\tfrac"];
    let odd = |c: char| c == '\u{fffd}' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    text.contains(odd) || AFTER_TAB.iter().any(|word| text.contains(word))
}

fn repeated_ids(questions: &[Placed<'_>]) -> usize {
    let mut seen = std::collections::HashSet::new();
    questions.iter().filter(|placed| !seen.insert(placed.question.id.as_str())).count()
}
