//! The known names closest to a misspelt one.

/// Up to `count` of `known`, closest first, that are at most half of `name` away.
pub fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let most = name.chars().count().div_ceil(2);
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= most)
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// Levenshtein distance: insertions, deletions and replacements of characters.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn closest_name_comes_first_and_strangers_are_left_out() {
        assert_eq!(nearest("setps", ["seed", "steps", "micro_batch_tokens"], 1), ["steps"]);
        assert!(nearest("zzzz", ["steps"], 3).is_empty());
    }
}
