//! Questions in their rows, and statistics of their answers, scripts and lengths.

use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use serde::Serialize;
use thiserror::Error;
use whole_file::FileError;

use crate::dataset::Question;

/// A question, its text, and where it stands.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) row: usize,
    pub(super) question: &'a Question,
    pub(super) text: String,
}

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

/// Scripts other than Latin and Greek, which mathematics uses in every language, with ranges of code points. The Han range is the
/// basic block: the others hold rare characters.
const RANGES: [(&str, u32, u32); 9] = [
    ("han", 0x4e00, 0x9fff),
    ("kana", 0x3041, 0x30ff),
    ("hangul", 0xac00, 0xd7a3),
    ("hangul", 0x1100, 0x11ff),
    ("cyrillic", 0x0400, 0x04ff),
    ("arabic", 0x0620, 0x064a),
    ("devanagari", 0x0904, 0x0939),
    ("hebrew", 0x05d0, 0x05ea),
    ("thai", 0x0e01, 0x0e30),
];

/// Rows that hold a letter of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptRows {
    /// Name of the script: `han` is Chinese, or Japanese with `kana`; `hangul` is Korean.
    pub script: &'static str,
    /// Rows, in order.
    pub rows: Vec<usize>,
}

/// Returns the scripts that occur, most rows first.
pub(super) fn scripts(questions: &[Placed<'_>]) -> Vec<ScriptRows> {
    let mut rows_of_script: Vec<ScriptRows> = Vec::new();
    for placed in questions {
        for script in scripts_of(&placed.text) {
            match rows_of_script.iter_mut().find(|rows| rows.script == script) {
                Some(rows) => rows.rows.push(placed.row),
                None => rows_of_script.push(ScriptRows { script, rows: vec![placed.row] }),
            }
        }
    }
    rows_of_script.sort_by_key(|rows| std::cmp::Reverse(rows.rows.len()));
    rows_of_script
}

fn scripts_of(text: &str) -> Vec<&'static str> {
    let mut scripts = Vec::new();
    for letter in text.chars().map(u32::from).filter(|&letter| letter >= 0x0400) {
        for (script, first, last) in RANGES {
            if (first..=last).contains(&letter) && !scripts.contains(&script) {
                scripts.push(script);
            }
        }
    }
    scripts
}

/// Returns true if a character is a word of its own, as in scripts written without spaces.
pub(super) fn is_word_by_itself(letter: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&letter)
}

/// Why a check cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LengthError {
    /// A file cannot be read at all.
    #[error(transparent)]
    File(#[from] FileError),
    /// The tokenizer failed on a text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Lengths of the questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lengths {
    /// `characters` or `tokens`.
    pub unit: &'static str,
    /// Shortest length.
    pub min: usize,
    /// Median: half of the questions are at most this long.
    pub median: usize,
    /// Quantile 0.9: nine tenths are at most this long.
    pub p90: usize,
    /// Quantile 0.99: ninety-nine hundredths are at most this long.
    pub p99: usize,
    /// Longest length.
    pub max: usize,
    /// Sum over all questions.
    pub total: usize,
    /// Configured limit; 0 is none.
    pub limit: usize,
    /// Questions longer than the limit.
    pub over_limit: usize,
}

pub(super) fn lengths<'a>(
    texts: impl Iterator<Item = &'a str>,
    tokenizer: Option<&TextTokenizer>,
    limit: usize,
) -> Result<Option<Lengths>, LengthError> {
    let length = |text: &str| {
        Ok(match tokenizer {
            None => text.chars().count(),
            Some(tokenizer) => tokenizer.encode(text)?.len(),
        })
    };
    let mut sorted = texts.map(length).collect::<Result<Vec<usize>, LengthError>>()?;
    sorted.sort_unstable();
    let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return Ok(None) };
    // The smallest length that at least `percent` hundredths of the questions do not exceed.
    let quantile = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    let within = sorted.partition_point(|&length| length <= limit);
    Ok(Some(Lengths {
        unit: if tokenizer.is_some() { "tokens" } else { "characters" },
        min,
        median: quantile(50),
        p90: quantile(90),
        p99: quantile(99),
        max,
        total: sorted.iter().sum(),
        limit,
        over_limit: if limit == 0 { 0 } else { sorted.len() - within },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_lengths_that_occur() {
        let texts: Vec<String> = (1..=200).rev().map(|n| "é".repeat(n)).collect();
        let statistics_of = |count: usize, limit| {
            let texts = texts[..count].iter().map(String::as_str);
            lengths(texts, None, limit).unwrap()
        };
        let statistics = statistics_of(200, 150).unwrap();
        assert_eq!(
            (statistics.min, statistics.median, statistics.p90, statistics.p99, statistics.max),
            (1, 100, 180, 198, 200)
        );
        assert_eq!((statistics.total, statistics.over_limit), (20_100, 50));
        assert_eq!(statistics_of(1, 0).unwrap().over_limit, 0);
        assert_eq!(statistics_of(0, 9), None);
    }
}
