//! Questions that stand in a file more than once.

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;

use super::placed::Placed;
use crate::dataset::same_answer;
use crate::ground_truth::RewardKinds;
use crate::question_key::{letters_key, symbols_key};

/// Groups of rows that are the same question under one rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Repeats {
    /// Different questions in the file under this rule.
    pub distinct: usize,
    /// Rows of each question that stands there more than once, in order of the first row.
    pub groups: Vec<Vec<usize>>,
}

impl Repeats {
    /// Rows beyond the first of each question.
    pub fn surplus_rows(&self) -> usize {
        self.groups.iter().map(|rows| rows.len() - 1).sum()
    }
}

/// One question with several answers that the verifier holds apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Its rows.
    pub rows: Vec<usize>,
    /// The answer of each row.
    pub answers: Vec<String>,
}

/// Exact duplicates, same questions, conflicts among the latter, and questions that differ in signs alone.
pub(super) fn repeats(
    questions: &[Placed<'_>],
    texts: &[String],
    kinds: &RewardKinds,
) -> (Repeats, Repeats, Vec<Conflict>, Repeats) {
    let symbols: Vec<String> = texts.iter().map(|text| symbols_key(text)).collect();
    let letters: Vec<String> = texts.iter().map(|text| letters_key(text)).collect();
    let same = groups(&symbols);
    let conflicts = same
        .1
        .iter()
        .filter(|group| {
            let first = questions[group[0]].question;
            group.iter().any(|&i| !same_answer(questions[i].question, first, kinds))
        })
        .map(|group| Conflict {
            rows: rows(questions, group),
            answers: group.iter().map(|&i| questions[i].question.answer.clone()).collect(),
        })
        .collect();
    let mut apart = groups(&letters);
    apart.1.retain(|group| group.iter().any(|&i| symbols[i] != symbols[group[0]]));
    let placed = |(distinct, groups): (usize, Vec<Vec<usize>>)| Repeats {
        distinct,
        groups: groups.iter().map(|group| rows(questions, group)).collect(),
    };
    (placed(groups(texts)), placed(same), conflicts, placed(apart))
}

fn rows(questions: &[Placed<'_>], group: &[usize]) -> Vec<usize> {
    group.iter().map(|&index| questions[index].row).collect()
}

/// How many different keys there are, and the positions of those that occur more than once.
fn groups<K: Eq + Hash>(keys: &[K]) -> (usize, Vec<Vec<usize>>) {
    let mut positions: HashMap<&K, Vec<usize>> = HashMap::new();
    for (position, key) in keys.iter().enumerate() {
        positions.entry(key).or_default().push(position);
    }
    let distinct = positions.len();
    let mut groups: Vec<Vec<usize>> =
        positions.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    (distinct, groups)
}
