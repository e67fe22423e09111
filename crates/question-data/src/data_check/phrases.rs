//! Instructions that the questions themselves contain.
//!
//! If the questions and the configuration both have a template, the model is asked twice. Questions that ask for
//! `Answer:` earn nothing from a grader that reads boxes.

use std::collections::HashMap;

use serde::Serialize;

use super::statistics::Placed;

/// Least number of words of a beginning or ending.
const FEWEST_WORDS: usize = 4;
/// Inverse of the least fraction of questions that must share it.
const ONE_IN: usize = 50;
/// Least number of questions that must share it, for files too small for the fraction.
const FEWEST_ROWS: usize = 3;
/// Largest number of beginnings, and of endings, in the report.
const MOST: usize = 5;
/// Phrases that ask for a form of answer, at any place.
const ASKING: [&str; 4] = ["\\boxed", "Answer:", "step by step", "<think>"];

/// Place of a phrase in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhrasePlace {
    /// The questions begin with it.
    Beginning,
    /// The questions end in it.
    Ending,
    /// The questions contain it at any place.
    Anywhere,
}

/// Words that many questions share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phrase {
    /// The words; spaces as single blanks.
    pub text: String,
    /// Place of the words in the questions.
    pub place: PhrasePlace,
    /// Rows that have it, in order.
    pub rows: Vec<usize>,
}

/// Returns the phrases that many questions share, and known phrases that ask for a form of answer.
///
/// Shared phrases are beginnings and endings of at least four words that at least one question in fifty has, in their
/// longest form.
pub(super) fn phrases(questions: &[Placed<'_>]) -> Vec<Phrase> {
    let words: Vec<Vec<&str>> =
        questions.iter().map(|placed| placed.text.split_whitespace().collect()).collect();
    let backwards: Vec<Vec<&str>> =
        words.iter().map(|words| words.iter().rev().copied().collect()).collect();
    let mut phrases = Vec::new();
    let sides = [(PhrasePlace::Beginning, &words), (PhrasePlace::Ending, &backwards)];
    for (place, words) in sides {
        for (mut phrase, members) in shared_starts(words) {
            if place == PhrasePlace::Ending {
                phrase.reverse();
            }
            let rows = members.iter().map(|&index| questions[index].row).collect();
            phrases.push(Phrase { text: phrase.join(" "), place, rows });
        }
    }
    for asking in ASKING {
        let asks = |placed: &&Placed<'_>| placed.text.contains(asking);
        let rows: Vec<usize> = questions.iter().filter(asks).map(|placed| placed.row).collect();
        if !rows.is_empty() {
            phrases.push(Phrase { text: asking.to_owned(), place: PhrasePlace::Anywhere, rows });
        }
    }
    phrases
}

/// Returns starts that many lists share, most members first, each with the indices of its members.
fn shared_starts<'a>(lists: &[Vec<&'a str>]) -> Vec<(Vec<&'a str>, Vec<usize>)> {
    let mut members_of: HashMap<&[&str], Vec<usize>> = HashMap::new();
    for (index, words) in lists.iter().enumerate() {
        if let Some(start) = words.get(..FEWEST_WORDS) {
            members_of.entry(start).or_default().push(index);
        }
    }
    let enough = lists.len().div_ceil(ONE_IN).max(FEWEST_ROWS);
    let mut starts: Vec<Vec<usize>> =
        members_of.into_values().filter(|members| members.len() >= enough).collect();
    starts.sort_by_key(|members| (std::cmp::Reverse(members.len()), members[0]));
    starts.truncate(MOST);
    starts.into_iter().map(|members| grown(lists, members)).collect()
}

/// Extends the start word by word, as long as nine in ten of its members agree on the next word.
fn grown<'a>(lists: &[Vec<&'a str>], mut members: Vec<usize>) -> (Vec<&'a str>, Vec<usize>) {
    let mut length = FEWEST_WORDS;
    loop {
        let mut count: HashMap<&str, usize> = HashMap::new();
        for word in members.iter().filter_map(|&index| lists[index].get(length)) {
            *count.entry(word).or_default() += 1;
        }
        let most = count.into_iter().max_by_key(|&(word, count)| (count, word));
        let Some((word, count)) = most else { break };
        if count * 10 < members.len() * 9 {
            break;
        }
        members.retain(|&index| lists[index].get(length) == Some(&word));
        length += 1;
    }
    (lists[members[0]][..length].to_vec(), members)
}
