use entropy_core::{EntropyBand, InputError};
use model_files::sampling::{RangeCheck, Sampling};
use model_files::section;

use super::error::SettingsError;
use crate::evaluation::majority::MOST_SAMPLES;

section! {
    /// Settings for sampling the responses to a set.
    pub struct SetSampling {
        /// Number of responses to each problem.
        pub samples: usize = 1,
        /// [`Sampling::temperature`].
        pub temperature: f64 = Sampling::GREEDY.temperature,
        /// [`Sampling::top_p`].
        pub top_p: f64 = Sampling::GREEDY.top_p,
        /// [`Sampling::top_k`].
        pub top_k: usize = Sampling::GREEDY.top_k,
        /// [`Sampling::min_p`].
        pub min_p: f64 = Sampling::GREEDY.min_p,
        /// Longest response, in tokens.
        pub max_response_tokens: usize = 1024,
        /// Texts that end a response, beside the model's own end-of-sequence tokens.
        pub stop: Vec<String> = Vec::new(),
        /// Least entropy of the distribution a token is drawn from, in nats: its temperature is raised until it has that.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub entropy_floor: Option<f64> = None,
        /// Largest entropy of that distribution, in nats: its temperature is lowered until it has that.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub entropy_ceiling: Option<f64> = None,
    }
}

impl SetSampling {
    /// Returns the settings of the distribution before an entropy band changes its temperature.
    pub fn sampling(&self) -> Sampling {
        let &Self { temperature, top_k, top_p, min_p, .. } = self;
        Sampling { temperature, top_k, top_p, min_p }
    }

    /// Returns the entropy band; `None` where neither bound is given.
    ///
    /// # Errors
    ///
    /// Bounds that form no band.
    pub fn band(&self) -> Result<Option<EntropyBand>, InputError> {
        let (floor, ceiling) = (self.entropy_floor, self.entropy_ceiling);
        let banded = floor.is_some() || ceiling.is_some();
        banded.then(|| EntropyBand::new(floor, ceiling)).transpose()
    }

    pub(super) fn check(&self, set: &str) -> Result<(), SettingsError> {
        let &Self { samples, temperature, .. } = self;
        let drawn = |holds, expected: String| ("temperature", temperature, holds, expected);
        let range = |RangeCheck { field, value, holds, expected }: RangeCheck| {
            (field, value, holds, expected.to_owned())
        };
        let band = self.band().map_err(|error| SettingsError::of_set(set, error));
        let banded = !matches!(band, Ok(None));
        let [is_temperature, is_top_p, is_min_p] = self.sampling().checks().map(range);
        let identical = format!("above 0 with {samples} samples, which would all be the same");
        let (count, tokens) = (samples as f64, self.max_response_tokens as f64);
        let is_count = (1..=MOST_SAMPLES).contains(&samples);
        let checks = [
            ("samples", count, is_count, format!("1 to {MOST_SAMPLES}")),
            is_temperature,
            drawn(samples == 1 || temperature > 0.0, identical),
            drawn(!banded || temperature > 0.0, "above 0 with an entropy band".to_owned()),
            is_top_p,
            is_min_p,
            ("max_response_tokens", tokens, tokens > 0.0, "at least 1".to_owned()),
        ];
        match checks.into_iter().find(|(_, _, holds, _)| !holds) {
            Some((field, found, _, expected)) => {
                Err(SettingsError::of_set(set, format!("{field} is {found}, expected {expected}")))
            }
            None => band.map(drop),
        }
    }
}
