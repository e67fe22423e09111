//! Scaling of the rotary frequencies for long contexts.

use serde::Serialize;
use serde_json::Value;

use super::fields::{Fields, Read, count};

/// Scaling of the rotary frequencies for long contexts; serialised as transformers reads it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "rope_type", rename_all = "lowercase")]
pub enum RopeScaling {
    /// Piecewise scaling of Llama 3.1: short wavelengths stay, long ones grow by `factor`, with a smooth transition.
    Llama3 {
        /// Factor of the long wavelengths.
        factor: f64,
        /// Wavelengths above `original_max_position_embeddings / low_freq_factor` are scaled fully.
        low_freq_factor: f64,
        /// Wavelengths below `original_max_position_embeddings / high_freq_factor` are not scaled.
        high_freq_factor: f64,
        /// Context length before scaling, in tokens.
        original_max_position_embeddings: usize,
    },
    /// `YaRN`: frequencies of many turns within the context stay, those of few are divided by `factor`, with a ramp over the
    /// dimensions between; queries and keys grow by a factor.
    ///
    /// Source: Peng et al. 2023, *`YaRN`*, [arXiv:2309.00071](https://arxiv.org/abs/2309.00071), as transformers computes it.
    Yarn {
        /// Factor of the long wavelengths.
        factor: f64,
        /// Turns within the context from which a frequency stays.
        beta_fast: f64,
        /// Turns within the context up to which a frequency is scaled fully.
        beta_slow: f64,
        /// True if the ends of the ramp are rounded to whole dimensions.
        truncate: bool,
        /// Context length before scaling, in tokens.
        original_max_position_embeddings: usize,
        /// Factor of cosine and sine, if the file names one; otherwise `0.1 ln factor + 1`.
        #[serde(skip_serializing_if = "Option::is_none")]
        attention_factor: Option<f64>,
    },
}

/// `0.1 · mscale · ln factor + 1`, for a factor above 1.
fn yarn_factor(factor: f64, mscale: f64) -> f64 {
    if factor > 1.0 { 0.1 * mscale * factor.ln() + 1.0 } else { 1.0 }
}

impl RopeScaling {
    /// Factor of cosine and sine of the angles.
    pub fn attention_factor(self) -> f64 {
        match self {
            Self::Llama3 { .. } => 1.0,
            Self::Yarn { factor, attention_factor, .. } => {
                attention_factor.unwrap_or_else(|| yarn_factor(factor, 1.0))
            }
        }
    }

    /// Reads `rope_scaling`, or `rope_parameters` of newer files.
    pub(super) fn read(fields: &Fields<'_>) -> Read<Option<Self>> {
        const EXPECTED: &str = "null, or rope_type \"llama3\" with factor, low_freq_factor, high_freq_factor \
                                and original_max_position_embeddings, or rope_type \"yarn\" with factor";
        let newer = fields.rope_parameters("full_attention");
        let field = if newer.is_some() { "rope_parameters" } else { "rope_scaling" };
        let Some(value) = newer.or_else(|| fields.present(field)) else { return Ok(None) };
        let kind = value.get("rope_type").or_else(|| value.get("type")).and_then(Value::as_str);
        let read = match kind {
            Some("default") => return Ok(None),
            Some("llama3") => Self::llama3(value),
            Some("yarn") => Self::yarn(value, fields.count("max_position_embeddings")?),
            _ => None,
        };
        read.map(Some).ok_or_else(|| fields.fault(field, EXPECTED))
    }

    fn llama3(value: &Value) -> Option<Self> {
        let number = |name| value.get(name).and_then(Value::as_f64);
        Some(Self::Llama3 {
            factor: number("factor")?,
            low_freq_factor: number("low_freq_factor")?,
            high_freq_factor: number("high_freq_factor")?,
            original_max_position_embeddings: value
                .get("original_max_position_embeddings")
                .and_then(count)?,
        })
    }

    /// Reads as transformers does, which takes missing fields, null and 0 for the usual values.
    fn yarn(value: &Value, positions: usize) -> Option<Self> {
        let present = |name| value.get(name).filter(|value: &&Value| !value.is_null());
        // The outer `None` for a value that is no number.
        let number = |name| present(name).map_or(Some(None), |value| value.as_f64().map(Some));
        let number_or = |name, default: f64| {
            number(name).map(|number| number.filter(|&number| number != 0.0).unwrap_or(default))
        };
        let factor = number("factor")??;
        let (mscale, all) = (number_or("mscale", 0.0)?, number_or("mscale_all_dim", 0.0)?);
        let by_mscale = (mscale != 0.0 && all != 0.0)
            .then(|| yarn_factor(factor, mscale) / yarn_factor(factor, all));
        Some(Self::Yarn {
            factor,
            attention_factor: number("attention_factor")?.or(by_mscale),
            beta_fast: number_or("beta_fast", 32.0)?,
            beta_slow: number_or("beta_slow", 1.0)?,
            truncate: present("truncate").map_or(Some(true), Value::as_bool)?,
            original_max_position_embeddings: present("original_max_position_embeddings")
                .map_or(Some(positions), count)?,
        })
    }

    /// Returns the expected values, if these are invalid.
    pub(super) fn fault(self) -> Option<&'static str> {
        let (valid, expected) = match self {
            Self::Llama3 { factor, low_freq_factor, high_freq_factor, .. } => (
                factor >= 1.0 && low_freq_factor > 0.0 && high_freq_factor > low_freq_factor,
                "factor of at least 1 and 0 < low_freq_factor < high_freq_factor",
            ),
            Self::Yarn {
                factor, beta_fast, beta_slow, original_max_position_embeddings, ..
            } => (
                factor >= 1.0
                    && beta_slow > 0.0
                    && beta_fast >= beta_slow
                    && self.attention_factor() > 0.0
                    && original_max_position_embeddings > 0,
                "factor of at least 1, 0 < beta_slow <= beta_fast, attention_factor and \
                 original_max_position_embeddings above 0",
            ),
        };
        (!valid).then_some(expected)
    }
}
