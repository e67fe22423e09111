//! `[evaluation]`: accuracy on questions that are not trained on, while a run goes on.

use std::collections::BTreeMap;

use model_files::sampling::Sampling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Problems;
use model_files::section;

section! {
    /// `[evaluation]`
    pub struct EvaluationSection {
        /// Evaluate on `data.evaluation` before training, after every so many steps and at the end; 0
        /// is never.
        pub every: u64 = 0,
        /// Number of questions, from the first; 0 is all.
        pub questions: usize = 0,
        /// Responses to each question; 1 if `temperature` is 0.
        #[schemars(range(min = 1, max = 65_536))]
        pub samples: usize = 1,
        /// Softmax temperature; 0 takes the likeliest token.
        #[schemars(range(min = 0.0))]
        pub temperature: f64 = Sampling::GREEDY.temperature,
        /// Samples or temperature of some sources (`data_source` of a row) instead; none by default.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub by_source: BTreeMap<String, SourceEvaluation> = BTreeMap::new(),
    }
}

/// Settings of one source of questions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SourceEvaluation {
    /// Responses to each question; if absent, those of all sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Softmax temperature; if absent, that of all sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

impl EvaluationSection {
    /// Returns the responses to each question of a source, and their temperature.
    pub fn sampling_of(&self, source: &str) -> (usize, f64) {
        let SourceEvaluation { samples, temperature } =
            self.by_source.get(source).copied().unwrap_or_default();
        (samples.unwrap_or(self.samples), temperature.unwrap_or(self.temperature))
    }

    /// Adds the values that cannot be used; `has_source` is true if there is anything to evaluate on.
    pub(super) fn check(&self, has_source: bool, problems: &mut Problems) {
        let expected = "0 where data.evaluation is absent";
        problems.require(self.every == 0 || has_source, "evaluation.every", self.every, expected);
        let expected = "1 where evaluation.temperature is 0: all samples would be equal";
        let greedy_twice = self.temperature <= 0.0 && self.samples > 1;
        problems.require(!greedy_twice, "evaluation.samples", self.samples, expected);
        // Below 0 it is out of range.
        let fits = self.temperature <= 0.0 || Sampling::is_temperature(self.temperature);
        let expected = Sampling::TEMPERATURES;
        problems.require(fits, "evaluation.temperature", self.temperature, expected);
        for source in self.by_source.keys() {
            let (samples, temperature) = self.sampling_of(source);
            let field = |name: &str| format!("evaluation.by_source.{source}.{name}");
            let fits = Sampling::is_temperature(temperature);
            problems.require(fits, &field("temperature"), temperature, Sampling::TEMPERATURES);
            let fits = (1..=65_536).contains(&samples) && (samples == 1 || temperature > 0.0);
            let expected = "1 to 65536, and 1 where its temperature is 0";
            problems.require(fits, &field("samples"), samples, expected);
        }
    }
}
