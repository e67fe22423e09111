//! Treatment of responses that are too long.

use crate::parameter::{ParameterError, Settings, check_at_most, settings};

settings! {
    /// Soft punishment of long responses, to be added to the reward.
    ///
    /// ```text
    /// L ≤ max - buffer          0
    /// max - buffer < L ≤ max    -factor · (L - (max - buffer)) / buffer
    /// max < L                   -factor
    /// ```
    ///
    /// A buffer of 0 punishes only what is longer than `max_tokens`.
    ///
    /// Source: DAPO, [arXiv:2503.14476](https://arxiv.org/abs/2503.14476), Eq. 13 (factor 1, buffer
    /// 4096).
    pub struct OverlongPenalty required {
        /// The longest response a rollout may have, in tokens.
        pub max_tokens: usize;
        /// Tokens before it over which the punishment grows; at most `max_tokens`.
        #[serde(default = "default_buffer_tokens")]
        pub buffer_tokens: usize;
        /// Largest penalty, in reward; 0 or above.
        #[serde(default = "default_penalty_factor")]
        pub penalty_factor: f64, check_not_negative;
    } also |settings| {
        let longest = ("max_tokens", settings.max_tokens as f64);
        check_at_most(("buffer_tokens", settings.buffer_tokens as f64), longest)
    }
}

fn default_buffer_tokens() -> usize {
    4096
}

fn default_penalty_factor() -> f64 {
    1.0
}

impl OverlongPenalty {
    /// Settings with the given numbers.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if the buffer is longer than `max_tokens` or the factor is negative.
    pub fn new(
        max_tokens: usize,
        buffer_tokens: usize,
        penalty_factor: f64,
    ) -> Result<Self, ParameterError> {
        let settings = Self { max_tokens, buffer_tokens, penalty_factor };
        settings.check().map(|()| settings)
    }

    /// Penalty of a response of `tokens` tokens, in reward: 0 or below.
    pub fn penalty(&self, tokens: usize) -> f64 {
        let excess = tokens.saturating_add(self.buffer_tokens).saturating_sub(self.max_tokens);
        if excess == 0 {
            return 0.0;
        }
        let share = excess as f64 / self.buffer_tokens.max(1) as f64;
        -self.penalty_factor * share.min(1.0)
    }
}
