//! What was decided, and by which step of the ladder.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The outcome of one verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// The response gives the ground truth.
    Right {
        /// The rung that decided, and what it compared.
        how: How,
    },
    /// The response gives something else.
    Wrong {
        /// The rung that decided, and what it compared.
        how: How,
    },
    /// No decision: one side could not be read.
    Unparsed {
        /// The side at fault.
        which: Side,
        /// What was the matter with it.
        why: ParseError,
    },
}

impl Verdict {
    /// Whether the response was found right.
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Right { .. })
    }

    /// How it came about, if it was decided.
    pub fn how(&self) -> Option<&How> {
        match self {
            Self::Right { how } | Self::Wrong { how } => Some(how),
            Self::Unparsed { .. } => None,
        }
    }

    pub(crate) fn decided(right: bool, rung: Rung) -> Self {
        let how = How { rung, response: None, ground_truth: None };
        if right { Self::Right { how } } else { Self::Wrong { how } }
    }
}

/// The explanation of a verdict: the rung that decided and both sides in normal form.
///
/// Deciding needs no text, so the normal forms are printed only where [`crate::Options::normal_forms`] asks for them
/// (`reward-math grade` and `explain` do); training does without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// The rung that decided.
    pub rung: Rung,
    /// The answer of the response in normal form, in the reading that was compared; see [`crate::normal_form`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The ground truth in normal form, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground_truth: Option<String>,
}

/// One of the two texts that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What the model wrote.
    Response,
    /// What the data set says.
    GroundTruth,
}

/// The step of the ladder that decided, from the cheapest to the dearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// The folded texts are the same, character for character.
    Spelling,
    /// Letters of a multiple choice.
    Choice,
    /// Words, compared without case, articles and final punctuation.
    Words,
    /// Exact rational numbers.
    Number,
    /// Units of measurement: different ones, or one measure converted into the other.
    Unit,
    /// Sets, tuples, intervals, matrices: their kind or number of members.
    Structure,
    /// Equations and inequalities, up to rearrangement.
    Relation,
    /// Parts of the real line: the same intervals and points once unions are formed and inequalities solved.
    Region,
    /// Normal forms of expressions over the rationals, radicals, π, variables and function atoms.
    NormalForm,
    /// Residues modulo large primes, or enclosures by interval arithmetic: apart, or overlapping at over a thousand
    /// bits or at several random points.
    Enclosure,
    /// The ground truth is a decimal of ten places or more, and the exact value is within one unit of the last.
    Rounding,
    /// The two are different kinds of answer, such as a word and a number.
    Kind,
    /// Unit tests were run against a program; no answer of this crate's own, but of one that shares its verdicts.
    Tests,
}

/// Why a text is no answer that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ParseError {
    /// The response holds no answer that the options allow.
    #[error("no answer found, expected a box or one of the allowed phrases")]
    NoAnswer,
    /// The place of the answer is empty.
    #[error("the answer is empty")]
    Empty,
    /// More text than an answer can have.
    #[error("the answer has {found} bytes, expected at most {limit}")]
    TooLong {
        /// Bytes found.
        found: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Brackets within brackets beyond the limit.
    #[error("brackets are nested deeper than {limit}")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
    },
    /// Not mathematics that this crate reads.
    #[error("unreadable at byte {at} of the normalised answer: found {found}, expected {expected}")]
    Syntax {
        /// Byte offset in the normalised answer.
        at: usize,
        /// What stands there.
        found: String,
        /// What was expected there.
        expected: String,
    },
    /// A value that does not exist, such as a division by zero.
    #[error("undefined value: {what}")]
    Undefined {
        /// What is undefined.
        what: String,
    },
    /// The work exceeded [`crate::Options::fuel`].
    #[error("out of fuel: the comparison costs more steps than allowed")]
    OutOfFuel,
}
