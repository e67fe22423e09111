//! Filter of the samples.

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
