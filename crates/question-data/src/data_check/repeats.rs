//! Questions that stand in a file more than once.

use serde::Serialize;

use super::statistics::Placed;
use crate::dataset::same_answer;
use crate::ground_truth::RewardKinds;
use crate::question_key::{equal_keys, letters_key, symbols_key};

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
    kinds: &RewardKinds,
) -> (Repeats, Repeats, Vec<Conflict>, Repeats) {
    let rows = |group: &Vec<usize>| group.iter().map(|&i| questions[i].row).collect();
    let placed = |groups: &[Vec<usize>]| {
        let groups: Vec<Vec<usize>> = groups.iter().map(rows).collect();
        let mut repeats = Repeats { distinct: 0, groups };
        repeats.distinct = questions.len() - repeats.surplus_rows();
        repeats
    };
    let keys = |key: fn(&str) -> String| -> Vec<String> {
        questions.iter().map(|placed| key(&placed.text)).collect()
    };
    let symbols = keys(symbols_key);
    let same = equal_keys(&symbols);
    let differ = |group: &&Vec<usize>| {
        let first = questions[group[0]].question;
        group.iter().any(|&i| !same_answer(questions[i].question, first, kinds))
    };
    let conflict = |group: &Vec<usize>| Conflict {
        rows: rows(group),
        answers: group.iter().map(|&i| questions[i].question.answer.clone()).collect(),
    };
    let conflicts = same.iter().filter(differ).map(conflict).collect();
    let letters = keys(letters_key);
    let mut apart = equal_keys(&letters);
    let distinct = letters.len() - apart.iter().map(|group| group.len() - 1).sum::<usize>();
    apart.retain(|group| group.iter().any(|&i| symbols[i] != symbols[group[0]]));
    let signs_apart = Repeats { distinct, ..placed(&apart) };
    let texts: Vec<&str> = questions.iter().map(|placed| placed.text.as_str()).collect();
    (placed(&equal_keys(&texts)), placed(&same), conflicts, signs_apart)
}
