//! Filter of the samples, and text search within them.

use crate::run_view::ViewedSample;

/// Every sample passes.
pub(super) const ALL: &str = "all";

/// Names of the filters, in the order in which a key goes through them.
pub(super) const FILTERS: [&str; 5] = [ALL, "right", "wrong", "unparsed", "truncated"];

pub(super) fn passes(filter: &str, sample: &ViewedSample) -> bool {
    match filter {
        ALL => true,
        "truncated" => sample.truncated,
        verdict => sample.verdict == verdict,
    }
}

/// True if the question or the response contains `text`.
pub(super) fn holds(sample: &ViewedSample, text: &str) -> bool {
    !matches(&sample.problem, text).is_empty() || !matches(&sample.response, text).is_empty()
}

/// Finds `wanted` in `text` as byte ranges, ignoring ASCII case.
pub(super) fn matches(text: &str, wanted: &str) -> Vec<(usize, usize)> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let (small, small_wanted) = (text.to_ascii_lowercase(), wanted.to_ascii_lowercase());
    small.match_indices(&small_wanted).map(|(start, found)| (start, start + found.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_count_as_small_letters() {
        assert_eq!(matches("Step one, STEP two", "step"), [(0, 4), (10, 14)]);
        assert_eq!(matches("anything", ""), []);
        // Bytes of other letters stay where they are.
        assert_eq!(matches("İ x X", "x"), [(3, 4), (5, 6)]);
    }
}
