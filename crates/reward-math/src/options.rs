//! How an answer is looked for and how much work deciding may cost.

use serde::{Deserialize, Serialize};

/// How an answer is looked for and how much work deciding may cost.
///
/// The default takes the last box, else `####`, else an `<answer>` tag, else the last "answer is" or
/// "Answer:", else a last line in bold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Only `\boxed{…}` and `\fbox{…}` count as an answer.
    pub strict: bool,
    /// If nothing else is found, take the last formula or number of the response.
    pub last_number: bool,
    /// Steps of work that one verification may spend, at least 1. A count, not a time: the verdict
    /// is the same on every machine.
    pub fuel: u64,
    /// Whether a verdict carries both sides in normal form, for people; costs about a third more.
    ///
    /// No part of a configuration: it changes no verdict.
    #[serde(skip)]
    pub normal_forms: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: false, last_number: false, fuel: 100_000, normal_forms: false }
    }
}

impl Options {
    /// The same, with both sides of every verdict in normal form.
    #[must_use]
    pub fn explained(self) -> Self {
        Self { normal_forms: true, ..self }
    }

    /// Only a box counts.
    pub fn strict() -> Self {
        Self { strict: true, ..Self::default() }
    }

    /// Every rule, the last formula or number included: for texts of models that were told no format.
    pub fn lenient() -> Self {
        Self { last_number: true, ..Self::default() }
    }
}
