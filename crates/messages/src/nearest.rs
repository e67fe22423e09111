//! The known names closest to a misspelt one.

use strsim::levenshtein;

/// Up to `count` of `known`, closest first, that are at most half of `name` away: insertions, deletions and replacements of
/// characters.
pub fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let most = name.chars().count().div_ceil(2);
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|candidate| (levenshtein(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= most)
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_name_comes_first_and_strangers_are_left_out() {
        assert_eq!(nearest("setps", ["seed", "steps", "micro_batch_tokens"], 1), ["steps"]);
        assert!(nearest("zzzz", ["steps"], 3).is_empty());
    }
}
