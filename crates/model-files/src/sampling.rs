//! The distribution that a token is drawn from.

use schemars::{JsonSchema, schema_for};

/// Temperature, and the sampling mask: `top_k`, then `top_p`, then `min_p` leave tokens of the vocabulary out.
///
/// The doc comments of the fields are the [meaning](Self::meaning) of these options wherever they may be set.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
pub struct Sampling {
    /// Temperature, the divisor of the logits; 0 takes the likeliest token.
    pub temperature: f64,
    /// Sample only from this many of the likeliest tokens; 0 is all.
    pub top_k: usize,
    /// Sample only from the likeliest tokens whose probabilities first add up to this; 1 is all. Above 0 and at most 1; applied after
    /// `top_k`.
    pub top_p: f64,
    /// Sample only tokens at least this times as likely as the likeliest; 0 is all. At least 0 and below 1; applied after `top_p`.
    pub min_p: f64,
}

/// A value, and its allowed range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RangeCheck {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// True if the value lies in the range.
    pub holds: bool,
    /// The range, in words.
    pub expected: &'static str,
}

impl Sampling {
    /// Plain softmax: temperature 1, over the whole vocabulary.
    pub const DEFAULT: Self = Self { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0 };

    /// Greedy decoding: the most likely token.
    pub const GREEDY: Self = Self { temperature: 0.0, ..Self::DEFAULT };

    /// Least temperature but 0: logits divided by it stay finite in f32.
    pub const LEAST_TEMPERATURE: f64 = 1e-6;

    /// The temperatures that [`is_temperature`](Self::is_temperature) takes, in words.
    pub const TEMPERATURES: &'static str = "0 or at least 0.000001";

    /// The values that [`is_top_p`](Self::is_top_p) takes, in words.
    pub const TOP_PS: &'static str = "above 0 and at most 1";

    /// The values that [`is_min_p`](Self::is_min_p) takes, in words.
    pub const MIN_PS: &'static str = "at least 0 and below 1";

    /// Meaning of an option, for pages and `--help`, without the last full stop.
    ///
    /// # Panics
    ///
    /// If there is no such option.
    pub fn meaning(option: &str) -> String {
        let schema = schema_for!(Self);
        let text = schema.pointer(&format!("/properties/{option}/description"));
        let text = text.and_then(|text| text.as_str()).expect("a field with a doc comment");
        text.trim_end_matches('.').replace('\n', " ")
    }

    /// Returns true if `temperature` is 0 or one that logits can be divided by.
    pub fn is_temperature(temperature: f64) -> bool {
        temperature.is_finite() && (temperature == 0.0 || temperature >= Self::LEAST_TEMPERATURE)
    }

    /// Returns true if `share` is a valid `top_p`.
    pub fn is_top_p(share: f64) -> bool {
        share > 0.0 && share <= 1.0
    }

    /// Returns true if `share` is a valid `min_p`.
    pub fn is_min_p(share: f64) -> bool {
        (0.0..1.0).contains(&share)
    }

    /// Checks the range of each field that has one: `temperature`, `top_p`, `min_p`.
    pub fn checks(&self) -> [RangeCheck; 3] {
        let &Self { temperature, top_p, min_p, .. } = self;
        let check = |field, value, holds, expected| RangeCheck { field, value, holds, expected };
        let is_temperature = Self::is_temperature(temperature);
        [
            check("temperature", temperature, is_temperature, Self::TEMPERATURES),
            check("top_p", top_p, Self::is_top_p(top_p), Self::TOP_PS),
            check("min_p", min_p, Self::is_min_p(min_p), Self::MIN_PS),
        ]
    }

    /// Returns true if the sampling mask leaves out tokens of the vocabulary; a temperature of 0 does not count.
    pub fn truncates(&self) -> bool {
        self.top_k > 0 || self.top_p < 1.0 || self.min_p > 0.0
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self::DEFAULT
    }
}
