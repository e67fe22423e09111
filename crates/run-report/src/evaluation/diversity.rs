//! Word overlap of the responses to one problem.

use std::collections::{HashMap, HashSet};

/// Longest n-gram of BLEU, in words.
const BLEU_ORDER: usize = 4;

/// Stands in for 0 matches in a precision.
const SMOOTHING: f64 = 0.1;

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Fraction of different n-grams of `order` words among all of them, over the responses to one problem: distinct-n. It is 0
/// where no response is that long.
///
/// Source: Li et al. 2016, arXiv:1510.03055, Sec. 5.
pub fn distinct_ngrams(texts: &[&str], order: usize) -> f64 {
    let words: Vec<Vec<&str>> = texts.iter().map(|text| words(text)).collect();
    let ngrams = || words.iter().flat_map(|words| words.windows(order));
    let (all, different) = (ngrams().count(), ngrams().collect::<HashSet<_>>().len());
    if all == 0 { 0.0 } else { different as f64 / all as f64 }
}

/// Self-BLEU, a fraction: mean over the responses to one problem of BLEU-4 against all others as references. It is 1 where
/// all are the same, `None` for fewer than two responses.
///
/// ```text
/// BLEU = BP · exp(¼ Σ_n ln p_n),   BP = min(1, exp(1 - r / c))
/// ```
///
/// `p_n` is the fraction of the response's n-grams of `n` words that occur in a reference. Each counts at most as often as in
/// the reference that has it most. Without a match it is smoothed to `0.1 / ` their number (at least 1). `c` is the response's
/// length, `r` that of the reference nearest to it, the shorter of two. BLEU is 0 where no word matches.
///
/// Source: Zhu et al. 2018, arXiv:1802.01886, with `sentence_bleu` and `SmoothingFunction.method1` of NLTK.
pub fn self_bleu(texts: &[&str]) -> Option<f64> {
    if texts.len() < 2 {
        return None;
    }
    let words: Vec<Vec<&str>> = texts.iter().map(|text| words(text)).collect();
    let orders: Vec<_> = (1..=BLEU_ORDER).map(|order| matches(&words, order)).collect();
    let bleu = |index: usize| {
        let mut log_precision = 0.0;
        for (order, matches) in (1..).zip(&orders) {
            let (matched, all) = matches[index];
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

/// Matching n-grams of each response, and the number of all its n-grams, at least 1. An n-gram matches at most as often as another
/// response has it.
fn matches(words: &[Vec<&str>], order: usize) -> Vec<(usize, usize)> {
    // Responses that have an n-gram, with its count in each.
    let mut holders: HashMap<&[&str], Vec<(usize, usize)>> = HashMap::new();
    for (owner, words) in words.iter().enumerate() {
        for ngram in words.windows(order) {
            let holders = holders.entry(ngram).or_default();
            match holders.last_mut() {
                Some((last, count)) if *last == owner => *count += 1,
                _ => holders.push((owner, 1)),
            }
        }
    }
    let mut matches: Vec<(usize, usize)> =
        words.iter().map(|words| (0, words.windows(order).len().max(1))).collect();
    for holders in holders.values() {
        let mut counts: Vec<usize> = holders.iter().map(|&(_, count)| count).collect();
        counts.sort_unstable();
        let (most, second) = (counts.pop(), counts.pop().unwrap_or(0));
        for &(owner, count) in holders {
            matches[owner].0 += if Some(count) == most { second } else { count };
        }
    }
    matches
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
