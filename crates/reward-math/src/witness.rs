//! Evidence that an answer is wrong.

use serde::Serialize;

use crate::verdict::Side;

/// Evidence that an answer is wrong, which can be checked without this crate; see [`crate::Gold::witness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Witness {
    /// Values at one place of both answers, such as the second coordinate, are different.
    Values(Values),
    /// Two equations or inequalities `p = 0` and `q = 0` are no multiples of each other.
    ///
    /// Variables have one value by their name, and another by their name with `'`. The values are `p q'` and `p' q`,
    /// which are equal where `p` is a multiple of `q`.
    Proportion(Values),
    /// The answers have different shapes: kinds, letters, words, units, brackets, numbers of members, relations.
    Shapes {
        /// Shape of the response's answer, in words.
        response: String,
        /// Shape of the ground truth, in words.
        ground_truth: String,
    },
    /// A member of one side equals no member of the other, or occurs more often there.
    Member {
        /// Side of the member.
        side: Side,
        /// The member, in the notation of [`crate::normal_form`].
        member: String,
        /// Evidence against the members of the other side that have no partner, at most 64.
        evidence: Vec<Witness>,
    },
}

impl Witness {
    /// Returns two shapes as evidence, if they differ.
    pub(crate) fn shapes(
        response: impl Into<String>,
        ground_truth: impl Into<String>,
    ) -> Option<Self> {
        let (response, ground_truth) = (response.into(), ground_truth.into());
        (response != ground_truth).then_some(Self::Shapes { response, ground_truth })
    }
}

/// Two values without a common number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Values {
    /// Names of the variables and their exact values.
    pub point: Vec<(String, String)>,
    /// Ends of the real part and of the imaginary part of the response's value: fractions `3/4`, or `5*2^-3`.
    pub response: [[String; 2]; 2],
    /// Ends of the parts of the ground truth's value.
    pub ground_truth: [[String; 2]; 2],
}
