//! The distribution that a token is drawn from.

/// Temperature, and the part of the vocabulary that tokens are drawn from: `top_k`, then `top_p`, then `min_p` leave tokens out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the likeliest token.
    pub temperature: f64,
    /// Only this many of the likeliest tokens are drawn; 0 is all.
    pub top_k: usize,
    /// Only the likeliest tokens whose probabilities first add up to this are drawn; 1 is all.
    pub top_p: f64,
    /// Only tokens at least this times as likely as the likeliest are drawn; 0 is all.
    pub min_p: f64,
}

/// A value, and the range it must lie in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RangeCheck {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// Whether it lies in the range.
    pub holds: bool,
    /// The range, in words.
    pub expected: &'static str,
}

impl Sampling {
    /// The softmax itself: temperature 1, over the whole vocabulary.
    pub const DEFAULT: Self = Self { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0 };

    /// The likeliest token.
    pub const GREEDY: Self = Self { temperature: 0.0, ..Self::DEFAULT };

    /// Whether a share may stand for `top_p`.
    pub fn is_top_p(share: f64) -> bool {
        share > 0.0 && share <= 1.0
    }

    /// Whether a share may stand for `min_p`.
    pub fn is_min_p(share: f64) -> bool {
        (0.0..1.0).contains(&share)
    }

    /// The range of each field that has one: `temperature`, `top_p`, `min_p`.
    pub fn checks(&self) -> [RangeCheck; 3] {
        let &Self { temperature, top_p, min_p, .. } = self;
        let check = |field, value, holds, expected| RangeCheck { field, value, holds, expected };
        let is_temperature = temperature.is_finite() && temperature >= 0.0;
        [
            check("temperature", temperature, is_temperature, "a number of at least 0"),
            check("top_p", top_p, Self::is_top_p(top_p), "above 0 and at most 1"),
            check("min_p", min_p, Self::is_min_p(min_p), "at least 0 and below 1"),
        ]
    }

    /// Whether some tokens of the vocabulary are never drawn, where tokens are drawn at all.
    pub fn truncates(&self) -> bool {
        self.top_k > 0 || self.top_p < 1.0 || self.min_p > 0.0
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self::DEFAULT
    }
}
