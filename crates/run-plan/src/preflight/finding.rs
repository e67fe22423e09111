//! One thing that is wrong.

use serde::Serialize;

/// Something that keeps a run from learning, or makes it learn slowly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether no step of the run could have a gradient.
    pub fatal: bool,
    /// What was seen.
    pub seen: String,
    /// The settings to change, the likeliest first.
    pub settings: Vec<&'static str>,
    /// How.
    pub advice: String,
}
