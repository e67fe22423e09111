//! The ladder of comparisons.

use crate::answer::Answer;
use crate::verdict::{Rung, Verdict};

/// Compares two answers, rung by rung.
pub(crate) fn decide(response: &Answer, gold: &Answer, _fuel: u64) -> Verdict {
    if response.folded == gold.folded {
        return Verdict::Right { how: Rung::Spelling };
    }
    match (&response.number, &gold.number) {
        (Some(left), Some(right)) if left == right => Verdict::Right { how: Rung::Number },
        (Some(_), Some(_)) => Verdict::Wrong { how: Rung::Number },
        _ => Verdict::Wrong { how: Rung::Spelling },
    }
}
