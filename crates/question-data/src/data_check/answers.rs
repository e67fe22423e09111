//! Statistics of the answers.

use serde::Serialize;

use super::placed::Placed;

/// Number of answers of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AnswerKinds {
    /// Whole numbers, a sign and leading zeros allowed.
    pub integers: usize,
    /// Integers with leading zeros: `025` and `25` must be the same to a verifier.
    pub leading_zeros: usize,
    /// Decimal numbers.
    pub decimals: usize,
    /// Single letters: mostly choices.
    pub letters: usize,
    /// Everything else: fractions, formulas, tuples, words.
    pub others: usize,
}

pub(super) fn answer_kinds(questions: &[Placed<'_>]) -> AnswerKinds {
    let mut kinds = AnswerKinds::default();
    for placed in questions {
        let answer = placed.question.answer.trim();
        let digits = answer.strip_prefix(['-', '+']).unwrap_or(answer);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            kinds.integers += 1;
            kinds.leading_zeros += usize::from(digits.len() > 1 && digits.starts_with('0'));
        } else if digits.split_once('.').is_some_and(|(whole, part)| {
            !part.is_empty() && [whole, part].iter().all(|s| s.bytes().all(|b| b.is_ascii_digit()))
        }) {
            kinds.decimals += 1;
        } else if answer.len() == 1 && answer.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            kinds.letters += 1;
        } else {
            kinds.others += 1;
        }
    }
    kinds
}
