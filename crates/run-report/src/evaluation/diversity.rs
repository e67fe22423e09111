//! How much the responses to one problem have in common, in words.

use std::collections::HashMap;

/// Longest sequence of words that BLEU looks at.
const BLEU_ORDER: usize = 4;

/// What stands for a precision of 0 matches, divided by the number of sequences.
const SMOOTHING: f64 = 0.1;

/// A text as its words: what stands between white space.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Share of different sequences of `order` words among all of them, over the responses to one problem: distinct-n, a
/// fraction. 0 where no response is that long.
///
/// Source: Li et al. 2016, arXiv:1510.03055, Sec. 5.
pub fn distinct_ngrams(texts: &[&str], order: usize) -> f64 {
    let words: Vec<Vec<&str>> = texts.iter().map(|text| words(text)).collect();
    let mut counts: HashMap<&[&str], usize> = HashMap::new();
    for ngram in words.iter().flat_map(|words| words.windows(order)) {
        *counts.entry(ngram).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    if all == 0 { 0.0 } else { counts.len() as f64 / all as f64 }
}

/// Mean over the responses to one problem of BLEU-4 of each against all others as references: self-BLEU, a fraction; 1
/// where all say the same. `None` for fewer than two responses.
///
/// ```text
/// BLEU = BP · exp(¼ Σ_n ln p_n),   BP = min(1, exp(1 - r / c))
/// ```
///
/// `p_n` is the share of the response's sequences of `n` words that occur in a reference, each at most as often as in the
/// reference that has it most; one without a match is smoothed to `0.1 / ` their number (at least 1). `c` is the response's
/// length, `r` that of the reference nearest to it, the shorter of two. 0 where not a word matches.
///
/// Source: Zhu et al. 2018, arXiv:1802.01886, with `sentence_bleu` and `SmoothingFunction.method1` of NLTK.
pub fn self_bleu(texts: &[&str]) -> Option<f64> {
    if texts.len() < 2 {
        return None;
    }
    let words: Vec<Vec<&str>> = texts.iter().map(|text| words(text)).collect();
    let orders: Vec<Matches<'_>> =
        (1..=BLEU_ORDER).map(|order| Matches::of(&words, order)).collect();
    let bleu = |index: usize| {
        let mut log_precision = 0.0;
        for (order, matches) in (1..).zip(&orders) {
            let (matched, all) = matches.of_response(index);
            let precision = match (matched, order) {
                (0, 1) => return 0.0,
                (0, _) => SMOOTHING / all as f64,
                _ => matched as f64 / all as f64,
            };
            log_precision += precision.ln() / BLEU_ORDER as f64;
        }
        brevity(&words, index) * log_precision.exp()
    };
    Some((0..words.len()).map(bleu).sum::<f64>() / words.len() as f64)
}

/// How often each sequence of words stands in each response, and where it stands most.
struct Matches<'a> {
    counts: Vec<HashMap<&'a [&'a str], usize>>,
    most: HashMap<&'a [&'a str], Most>,
}

/// The largest count of a sequence, whose it is, and the largest of the others.
#[derive(Clone, Copy, Default)]
struct Most {
    first: usize,
    owner: usize,
    second: usize,
}

impl<'a> Matches<'a> {
    fn of(words: &'a [Vec<&'a str>], order: usize) -> Self {
        let mut counts: Vec<HashMap<&[&str], usize>> = Vec::with_capacity(words.len());
        let mut most: HashMap<&[&str], Most> = HashMap::new();
        for (owner, words) in words.iter().enumerate() {
            let mut own: HashMap<&[&str], usize> = HashMap::new();
            for ngram in words.windows(order) {
                *own.entry(ngram).or_default() += 1;
            }
            for (&ngram, &count) in &own {
                let most = most.entry(ngram).or_default();
                if count > most.first {
                    *most = Most { first: count, owner, second: most.first };
                } else {
                    most.second = most.second.max(count);
                }
            }
            counts.push(own);
        }
        Self { counts, most }
    }

    /// Sequences of this response that others have, and all of them, at least 1.
    fn of_response(&self, index: usize) -> (usize, usize) {
        let own = &self.counts[index];
        let matched = own.iter().map(|(ngram, &count)| {
            let most = self.most[ngram];
            count.min(if most.owner == index { most.second } else { most.first })
        });
        (matched.sum(), own.values().sum::<usize>().max(1))
    }
}

fn brevity(words: &[Vec<&str>], index: usize) -> f64 {
    let length = words[index].len();
    let others = words.iter().enumerate().filter(|(other, _)| *other != index);
    let nearest = others.map(|(_, other)| other.len()).min_by_key(|&o| (o.abs_diff(length), o));
    match nearest {
        Some(nearest) if length <= nearest => (1.0 - nearest as f64 / length as f64).exp(),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_sequences_are_counted_over_all_responses() {
        let texts = ["a b a b", "a b c"];
        assert!((distinct_ngrams(&texts, 1) - 3.0 / 7.0).abs() < 1e-15);
        // ab ba ab | ab bc
        assert!((distinct_ngrams(&texts, 2) - 3.0 / 5.0).abs() < 1e-15);
        assert!(distinct_ngrams(&texts, 5).abs() < 1e-15);
        assert!(distinct_ngrams(&["", " "], 1).abs() < 1e-15);
    }

    #[test]
    fn the_same_text_again_has_self_bleu_1_and_other_words_0() {
        let same = ["one two three four five"; 3];
        assert!((self_bleu(&same).unwrap() - 1.0).abs() < 1e-15);
        assert!(self_bleu(&["a b c d", "e f g h"]).unwrap().abs() < 1e-15);
        assert_eq!(self_bleu(&["alone"]), None);
        assert!(self_bleu(&["", "a"]).unwrap().abs() < 1e-15);
    }
}
