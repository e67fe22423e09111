//! How an answer is looked for and how much work deciding may cost.

use serde::{Deserialize, Serialize};

/// How an answer is looked for and how much work deciding may cost.
///
/// The default takes the last box, else `####`, else an `<answer>` tag, else the last "answer is" or
/// "Answer:", else a last line in bold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Only `\boxed{…}` and `\fbox{…}` count: the mode for training, where the format is part of the task.
    pub strict: bool,
    /// When nothing else is found, take the last formula or number of the response.
    pub last_number: bool,
    /// Steps of work (about one per limb of arithmetic) that one verification may spend.
    ///
    /// A count, never a clock: the verdict is the same on every machine under every load.
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
