//! Questions of an evaluation set that stand in the training set.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::lengths::LengthError;
use super::placed::Placed;
use super::scripts::is_word_by_itself;
use crate::dataset::{QuestionFile, read_rows_for};
use crate::ground_truth::RewardKinds;
use crate::question_key::letters_key;

/// Words of one n-gram.
const GRAM_WORDS: usize = 13;
/// An evaluation question is known where more than this share of its n-grams occur in the training questions.
const KNOWN_FRACTION: f64 = 0.5;

/// How much of an evaluation set is known from training.
///
/// An evaluation question counts as known by either rule:
///
/// - *same letters*: a training question has the same letters and digits ([`letters_key`]);
/// - *shared n-grams*: more than half of its runs of 13 words occur in training questions. Words are runs of letters
///   and digits without case; a Chinese character is a word. Shorter questions have no such run and are judged by the
///   first rule alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overlap {
    /// File of the evaluation set.
    pub against: String,
    /// Its questions.
    pub questions: usize,
    /// Known by the first rule.
    pub same_letters: usize,
    /// Known by the second rule.
    pub shared_ngrams: usize,
    /// Known by either.
    pub known: usize,
    /// The known ones, each with a training row that gives it away.
    pub pairs: Vec<OverlapPair>,
    /// Training rows to leave out so that none is known any more: those with the same letters, then the nearest until
    /// at most half of a question's n-grams are left.
    pub rows_to_drop: Vec<usize>,
}

/// One evaluation question that is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverlapPair {
    /// Its row in the evaluation set.
    pub evaluation_row: usize,
    /// The training row most like it.
    pub training_row: usize,
    /// Share of its n-grams that occur in training; 0 where it is too short to have one.
    pub shared_fraction: f64,
    /// Whether letters and digits are all the same.
    pub same_letters: bool,
}

pub(super) fn overlap(
    training: &[Placed<'_>],
    texts: &[String],
    against: &QuestionFile,
    kinds: &RewardKinds,
) -> Result<Overlap, LengthError> {
    let mut rows_of_key: HashMap<String, Vec<usize>> = HashMap::new();
    let mut rows_of_gram: HashMap<u64, Vec<usize>> = HashMap::new();
    for (placed, text) in training.iter().zip(texts) {
        rows_of_key.entry(letters_key(text)).or_default().push(placed.row);
        for gram in grams(text) {
            let rows = rows_of_gram.entry(gram).or_default();
            if rows.last() != Some(&placed.row) {
                rows.push(placed.row);
            }
        }
    }
    let mut found = Overlap {
        against: against.path.display().to_string(),
        questions: 0,
        same_letters: 0,
        shared_ngrams: 0,
        known: 0,
        pairs: Vec::new(),
        rows_to_drop: Vec::new(),
    };
    let mut dropped = HashSet::new();
    for row in &read_rows_for(against, kinds)?.rows {
        let Ok(question) = &row.question else { continue };
        found.questions += 1;
        let text = question.text();
        let grams = grams(&text);
        let all = Shared::of(&grams, &rows_of_gram, &HashSet::new());
        let same = rows_of_key.get(&letters_key(&text));
        found.same_letters += usize::from(same.is_some());
        found.shared_ngrams += usize::from(all.is_known());
        let Some(training_row) = same.map(|rows| rows[0]).or(all.known_by()) else { continue };
        found.known += 1;
        found.pairs.push(OverlapPair {
            evaluation_row: row.place.number(),
            training_row,
            shared_fraction: all.fraction,
            same_letters: same.is_some(),
        });
        dropped.extend(same.into_iter().flatten());
        while let Some(row) = Shared::of(&grams, &rows_of_gram, &dropped).known_by() {
            dropped.insert(row);
        }
    }
    found.rows_to_drop = dropped.into_iter().collect();
    found.rows_to_drop.sort_unstable();
    Ok(found)
}

/// What one evaluation question shares with the training rows that are left.
struct Shared {
    /// Share of its n-grams.
    fraction: f64,
    /// The row that has most of them, the first such.
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

/// Hashes of all runs of 13 words.
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
