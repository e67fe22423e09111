//! Overlap of an evaluation set with the training set.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::statistics::{LengthError, Placed, is_word_by_itself};
use crate::dataset::{QuestionFile, read_rows};
use crate::ground_truth::RewardKinds;
use crate::question_key::letters_key;

/// Number of words of an n-gram.
const GRAM_WORDS: usize = 13;
/// An evaluation question is known if more than this fraction of its n-grams occur in the training questions.
const KNOWN_FRACTION: f64 = 0.5;

/// Number of questions of an evaluation set that are known from training.
///
/// An evaluation question counts as known by either rule:
///
/// - *same letters*: a training question has the same letters and digits ([`letters_key`]);
/// - *shared n-grams*: more than half of its runs of 13 words occur in training questions. Words are runs of letters
///   and digits without case; a Chinese character is a word. Shorter questions have no such run and are judged by the
///   first rule alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Overlap {
    /// File of the evaluation set.
    pub against: String,
    /// Number of questions of the evaluation set.
    pub questions: usize,
    /// Questions known by the first rule.
    pub same_letters: usize,
    /// Questions known by the second rule.
    pub shared_ngrams: usize,
    /// Questions known by either rule.
    pub known: usize,
    /// Known questions, each with a training row that gives it away.
    pub pairs: Vec<OverlapPair>,
    /// Training rows to remove so that no question is known any more.
    ///
    /// These are the rows with the same letters, then the nearest rows until at most half of a question's n-grams are
    /// left.
    pub rows_to_drop: Vec<usize>,
}

/// One known evaluation question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverlapPair {
    /// Row of the question in the evaluation set.
    pub evaluation_row: usize,
    /// Training row most similar to it.
    pub training_row: usize,
    /// Fraction of its n-grams that occur in training; 0 if it is too short for an n-gram.
    pub shared_fraction: f64,
    /// True if all letters and digits are the same.
    pub same_letters: bool,
}

pub(super) fn overlap(
    training: &[Placed<'_>],
    against: &QuestionFile,
    kinds: &RewardKinds,
) -> Result<Overlap, LengthError> {
    let mut rows_of_key: HashMap<String, Vec<usize>> = HashMap::new();
    let mut rows_of_gram: HashMap<u64, Vec<usize>> = HashMap::new();
    for placed in training {
        rows_of_key.entry(letters_key(&placed.text)).or_default().push(placed.row);
        for gram in grams(&placed.text) {
            let rows = rows_of_gram.entry(gram).or_default();
            if rows.last() != Some(&placed.row) {
                rows.push(placed.row);
            }
        }
    }
    let mut overlap = Overlap { against: against.path.display().to_string(), ..Overlap::default() };
    let mut dropped = HashSet::new();
    for (place, question) in read_rows(against, kinds)?.1 {
        let Ok(question) = question else { continue };
        overlap.questions += 1;
        let text = question.text();
        let grams = grams(&text);
        let all = Shared::of(&grams, &rows_of_gram, &HashSet::new());
        let same = rows_of_key.get(&letters_key(&text));
        overlap.same_letters += usize::from(same.is_some());
        overlap.shared_ngrams += usize::from(all.is_known());
        let Some(training_row) = same.map(|rows| rows[0]).or(all.known_by()) else { continue };
        overlap.known += 1;
        overlap.pairs.push(OverlapPair {
            evaluation_row: place.number(),
            training_row,
            shared_fraction: all.fraction,
            same_letters: same.is_some(),
        });
        dropped.extend(same.into_iter().flatten());
        while let Some(row) = Shared::of(&grams, &rows_of_gram, &dropped).known_by() {
            dropped.insert(row);
        }
    }
    overlap.rows_to_drop = dropped.into_iter().collect();
    overlap.rows_to_drop.sort_unstable();
    Ok(overlap)
}

/// N-grams that one evaluation question shares with the remaining training rows.
struct Shared {
    /// Fraction of its n-grams that occur there.
    fraction: f64,
    /// First row with the most of them.
    nearest: Option<usize>,
}

impl Shared {
    fn of(
        grams: &[u64],
        rows_of_gram: &HashMap<u64, Vec<usize>>,
        dropped: &HashSet<usize>,
    ) -> Self {
        let mut shared_by: HashMap<usize, usize> = HashMap::new();
        let mut shared = 0_usize;
        for rows in grams.iter().filter_map(|gram| rows_of_gram.get(gram)) {
            let mut left = rows.iter().filter(|&row| !dropped.contains(row)).peekable();
            shared += usize::from(left.peek().is_some());
            for &row in left {
                *shared_by.entry(row).or_default() += 1;
            }
        }
        let nearest = shared_by.into_iter().max_by_key(|&(row, count)| (count, Reverse(row)));
        Self {
            fraction: if shared == 0 { 0.0 } else { shared as f64 / grams.len() as f64 },
            nearest: nearest.map(|(row, _)| row),
        }
    }

    fn is_known(&self) -> bool {
        self.fraction > KNOWN_FRACTION
    }

    fn known_by(&self) -> Option<usize> {
        self.nearest.filter(|_| self.is_known())
    }
}

/// Returns the hashes of all runs of 13 words.
fn grams(text: &str) -> Vec<u64> {
    let hash = |run: &[String]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    words(text).windows(GRAM_WORDS).map(hash).collect()
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars() {
        let alone = is_word_by_itself(letter);
        if (alone || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if alone {
            words.push(letter.to_string());
        } else if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_and_single_chinese_characters() {
        assert_eq!(
            words("Let $x_1=2$, 求x的值 Äh!"),
            ["let", "x", "1", "2", "求", "x", "的", "值", "äh"]
        );
        assert!(grams("too short for a run of thirteen words").is_empty());
        assert_eq!(grams(&"a ".repeat(15)).len(), 3);
    }
}
