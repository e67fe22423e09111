//! PPO's clipped surrogate, with clip-higher and dual clip.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    parameter::{ParameterError, check, settings},
    semantics::Semantics,
    surrogate::{ClipRange, LOG_RATIO_LIMIT, Surrogate},
    term::{Visited, Visitor},
};

/// Ceiling `c > 1` on the ratio of tokens with negative advantage: `-min(max(..), -c A)`, or none.
///
/// In a configuration a number, or `"off"`.
///
/// Source: Ye et al. 2020, [Eq. 5](https://arxiv.org/abs/1912.09729).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualClip {
    // Infinity is off: no ratio reaches it.
    pub(crate) ceiling: f64,
}

impl DualClip {
    /// No ceiling.
    pub const OFF: Self = Self { ceiling: f64::INFINITY };

    /// A ceiling `c` on the ratio.
    ///
    /// # Errors
    ///
    /// [`ParameterError::OutOfRange`] unless `c` is finite and above 1.
    pub fn at(c: f64) -> Result<Self, ParameterError> {
        let above_one = |x: f64| x.is_finite() && x > 1.0;
        let ceiling = check("clip_ratio_c", c, "a finite number above 1, or \"off\"", above_one)?;
        Ok(Self { ceiling })
    }

    /// The ceiling `c` on the ratio, if there is one.
    pub fn ceiling(self) -> Option<f64> {
        self.ceiling.is_finite().then_some(self.ceiling)
    }
}

impl Serialize for DualClip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.ceiling.is_finite() {
            serializer.serialize_f64(self.ceiling)
        } else {
            serializer.serialize_str("off")
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for DualClip {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DualClip".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, { "const": "off" }] })
    }
}

impl<'de> Deserialize<'de> for DualClip {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DualClipVisitor)
    }
}

struct DualClipVisitor;

impl de::Visitor<'_> for DualClipVisitor {
    type Value = DualClip;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`clip_ratio_c`: a finite number above 1, or \"off\"")
    }

    fn visit_f64<E: de::Error>(self, c: f64) -> Result<DualClip, E> {
        DualClip::at(c).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, c: i64) -> Result<DualClip, E> {
        self.visit_f64(c as f64)
    }

    fn visit_u64<E: de::Error>(self, c: u64) -> Result<DualClip, E> {
        self.visit_f64(c as f64)
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<DualClip, E> {
        if word == "off" {
            Ok(DualClip::OFF)
        } else {
            Err(E::invalid_value(de::Unexpected::Str(word), &self))
        }
    }
}

settings! {
    /// The clipped surrogate of PPO; with group-relative advantages, the loss of GRPO.
    ///
    /// Default: verl's, clip 0.2 on both sides and dual clip at 3.
    pub struct PpoClip {
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.2, check_not_negative;
        /// Ceiling on the ratio for negative advantages (dual clip), above 1, or `"off"`.
        pub clip_ratio_c: DualClip = DualClip { ceiling: 3.0 };
        /// Code that is imitated: `"exact"` (none), `"paper"`, `"prime"` or `"verl"`.
        pub semantics: Semantics = Semantics::Exact;
    }
}

impl PpoClip {
    /// The surrogate clipped to `clip`, and to `dual_clip` where the advantage is negative.
    pub const fn new(clip: ClipRange, dual_clip: DualClip) -> Self {
        let (clip_ratio_low, clip_ratio_high) = (clip.low, clip.high);
        Self { clip_ratio_low, clip_ratio_high, clip_ratio_c: dual_clip, ..Self::DEFAULT }
    }

    pub(crate) fn surrogate(&self) -> Surrogate {
        let clip = ClipRange { low: self.clip_ratio_low, high: self.clip_ratio_high };
        match self.semantics {
            Semantics::Exact | Semantics::Verl => {
                Surrogate { clip, ceiling: self.clip_ratio_c.ceiling, limit: LOG_RATIO_LIMIT }
            }
            Semantics::Paper | Semantics::Prime => Surrogate::of(clip),
        }
    }
}

impl Visited for PpoClip {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(&self.surrogate())
    }
}
