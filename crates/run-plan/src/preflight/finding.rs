//! One problem of a run.

use serde::Serialize;

/// Something that keeps a run from learning, or makes it learn slowly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// True if no step of the run could have a gradient.
    pub fatal: bool,
    /// Observation that shows the problem.
    pub seen: String,
    /// The settings to change, the likeliest first.
    pub settings: Vec<&'static str>,
    /// Advice on how to change them.
    pub advice: String,
}
