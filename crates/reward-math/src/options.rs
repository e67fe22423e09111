//! Rules for extracting an answer, and the largest cost of deciding.

use serde::{Deserialize, Serialize};

/// Rules for extracting an answer, and the largest cost of deciding.
///
/// The default takes the last box, else `####`, else an `<answer>` tag, else the last "answer is" or
/// "Answer:", else a last line in bold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Only `\boxed{…}` and `\fbox{…}` count as an answer.
    pub strict: bool,
    /// If nothing else is found, take the last formula or number.
    pub last_number: bool,
    /// Steps of work of one verification, at least 1. A count, not a time: the verdict is the same
    /// on every machine.
    pub fuel: u64,
    /// Adds both sides in normal form to a verdict, for people; costs about a third more.
    ///
    /// It is not part of a configuration: it changes no verdict.
    #[serde(skip)]
    pub normal_forms: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: false, last_number: false, fuel: 100_000, normal_forms: false }
    }
}

impl Options {
    /// Adds both sides in normal form to every verdict.
    #[must_use]
    pub fn explained(self) -> Self {
        Self { normal_forms: true, ..self }
    }

    /// Returns options under which only a box counts.
    pub fn strict() -> Self {
        Self { strict: true, ..Self::default() }
    }

    /// Returns options with every rule, the last formula or number included: for models that were told no format.
    pub fn lenient() -> Self {
        Self { last_number: true, ..Self::default() }
    }
}
