//! Verdict of a verification, the step of the ladder that decided it, its evidence, and the reward for training.

use std::fmt;

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
        /// The problem of that side.
        why: ParseError,
    },
}

impl Verdict {
    /// Returns true if the response is right.
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Right { .. })
    }

    /// Returns the explanation, if the comparison was decided.
    pub fn how(&self) -> Option<&How> {
        match self {
            Self::Right { how } | Self::Wrong { how } => Some(how),
            Self::Unparsed { .. } => None,
        }
    }

    /// Returns the verdict on a ground truth that cannot be read.
    pub(crate) fn of_faulty_gold(why: ParseError) -> Self {
        Self::Unparsed { which: Side::GroundTruth, why }
    }

    pub(crate) fn decided(right: bool, rung: Rung) -> Self {
        let how = How { rung, response: None, ground_truth: None };
        if right { Self::Right { how } } else { Self::Wrong { how } }
    }
}

/// The explanation of a verdict: the rung that decided and both sides in normal form.
///
/// Normal forms are printed only if [`crate::Options::normal_forms`] asks for them, as `reward-math grade` and
/// `explain` do; training does without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// The rung that decided.
    pub rung: Rung,
    /// Answer of the response in normal form, in the reading that was compared; see [`crate::normal_form`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Ground truth in normal form, in the reading that was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground_truth: Option<String>,
}

/// One of the two texts that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Answer of the model.
    Response,
    /// Answer of the data set.
    GroundTruth,
}

/// Step of the ladder that decided, ordered by cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// The folded texts are equal, character for character.
    Spelling,
    /// Letters of a multiple choice.
    Choice,
    /// Words, compared without case, articles and final punctuation.
    Words,
    /// Exact rational numbers.
    Number,
    /// Units of measurement: different ones, or one converted into the other.
    Unit,
    /// Sets, tuples, intervals, matrices: their kind or number of members.
    Structure,
    /// Equations and inequalities, up to rearrangement.
    Relation,
    /// Parts of the real line: equal intervals and points after unions are formed and inequalities solved.
    Region,
    /// Normal forms of expressions over the rationals, radicals, π, variables and function atoms.
    NormalForm,
    /// Enclosures by interval arithmetic: disjoint, or overlapping at hundreds of bits or at several random points.
    Enclosure,
    /// The ground truth is a decimal of ten places or more, and the exact value is within one unit of the last.
    Rounding,
    /// The two are different kinds of answer, such as a word and a number.
    Kind,
    /// Unit tests of a program; no step of this crate, but of one that shares its verdicts.
    Tests,
}

impl fmt::Display for Rung {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name is the serialised one.
        self.serialize(formatter)
    }
}

/// Error of a text that is no comparable answer.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ParseError {
    /// The response holds no answer that the options allow.
    #[error("no answer found, expected a box or one of the allowed phrases")]
    NoAnswer,
    /// The answer repeats what the question asks to calculate.
    #[error("the answer only repeats a formula of the question, expected its value")]
    Restated,
    /// The answer's place is empty.
    #[error("the answer is empty")]
    Empty,
    /// The text is longer than an answer may be.
    #[error("the answer has {found} bytes, expected at most {limit}")]
    TooLong {
        /// Number of bytes found.
        found: usize,
        /// Number of bytes allowed.
        limit: usize,
    },
    /// Brackets are nested too deeply.
    #[error("brackets are nested deeper than {limit}")]
    TooDeep {
        /// Number of levels allowed.
        limit: usize,
    },
    /// The text is not mathematics that this crate reads.
    #[error("unreadable at byte {at} of the normalised answer: found {found}, expected {expected}")]
    Syntax {
        /// Byte offset in the normalised answer.
        at: usize,
        /// Text found at that byte.
        found: String,
        /// Syntax expected at that byte.
        expected: String,
    },
    /// The value does not exist, such as a division by zero.
    #[error("undefined value: {what}")]
    Undefined {
        /// The undefined operation.
        what: String,
    },
    /// Neither equality nor a difference was proved.
    #[error("undecided: the two values could be proved neither equal nor different")]
    Undecided,
    /// The work exceeded [`crate::Options::fuel`].
    #[error("out of fuel: the comparison costs more steps than allowed")]
    OutOfFuel,
}

/// Reward of each verdict, in reward units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Reward {
    /// Reward of a correct answer; above `wrong`, or equal where a divergence is the reward.
    pub right: f64,
    /// Reward of a wrong answer.
    pub wrong: f64,
    /// Reward if no answer could be read.
    pub unparsed: f64,
}

impl Default for Reward {
    fn default() -> Self {
        Self { right: 1.0, wrong: 0.0, unparsed: 0.0 }
    }
}

impl Reward {
    /// Returns the reward of this verdict.
    pub fn of(&self, verdict: &Verdict) -> f64 {
        match verdict {
            Verdict::Right { .. } => self.right,
            Verdict::Wrong { .. } => self.wrong,
            Verdict::Unparsed { .. } => self.unparsed,
        }
    }
}

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
    pub(crate) fn shapes(response: impl Into<String>, gold: impl Into<String>) -> Option<Self> {
        let (response, ground_truth) = (response.into(), gold.into());
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
