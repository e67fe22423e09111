//! Treatment of responses that reach the length limit.

use rl_losses::{OverlongPenalty, ParameterError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Problems;
use model_files::section;

/// Treatment of responses that reach `rollout.max_response_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Overlong {
    /// No change: such a response has the reward of its answer, mostly none. As in arXiv:2505.22617.
    #[default]
    None,
    /// Leaves it out of the update: it has no loss, and no place in a mean or among the selected tokens. Its reward stays in the
    /// baseline of its group. DAPO's overlong filtering, arXiv:2503.14476, Sec. 3.4; row 50 of `docs/paper-vs-code.md`.
    Mask,
    /// Lowers its reward over the last tokens before the limit (DAPO's soft punishment, Eq. 13).
    SoftBuffer(SoftBuffer),
}

section! {
    /// A penalty that grows over the last tokens before the limit.
    #[derive(Copy)]
    pub struct SoftBuffer {
        /// Tokens before the limit over which the reward falls; at most `rollout.max_response_tokens`.
        pub buffer_tokens: usize = 4096,
        /// Reward taken off a response of full length, at least 0.
        pub penalty_factor: f64 = 1.0,
    }
}

impl Overlong {
    /// Returns the penalty for responses of at most `max_response_tokens`; `None` without a soft buffer.
    ///
    /// # Errors
    ///
    /// If the buffer is longer than the response or the factor is negative.
    pub fn penalty(
        self,
        max_response_tokens: usize,
    ) -> Result<Option<OverlongPenalty>, ParameterError> {
        match self {
            Self::None | Self::Mask => Ok(None),
            Self::SoftBuffer(SoftBuffer { buffer_tokens, penalty_factor }) => {
                OverlongPenalty::new(max_response_tokens, buffer_tokens, penalty_factor).map(Some)
            }
        }
    }

    /// Adds the fields that are out of range.
    pub(crate) fn check(self, max_response_tokens: usize, problems: &mut Problems) {
        let Self::SoftBuffer(SoftBuffer { buffer_tokens, penalty_factor }) = self else { return };
        let field = |name: &str| format!("reward.overlong.soft-buffer.{name}");
        let expected = format!("at most rollout.max_response_tokens = {max_response_tokens}");
        let fits = buffer_tokens <= max_response_tokens;
        problems.require(fits, &field("buffer_tokens"), buffer_tokens, &expected);
        let fits = penalty_factor.is_finite() && penalty_factor >= 0.0;
        let expected = "a finite number of at least 0";
        problems.require(fits, &field("penalty_factor"), penalty_factor, expected);
    }

    /// Returns true if a response takes part in the update; `truncated` if it reached the limit.
    pub fn takes_part(self, truncated: bool) -> bool {
        !(truncated && self == Self::Mask)
    }
}

/// Returns the size of a mini-batch if `remaining` of `responses` take part: leaving some out makes mini-batches of the
/// `configured` size smaller, not fewer.
pub fn mini_batch_size(configured: usize, responses: usize, remaining: usize) -> usize {
    if remaining == responses {
        return configured;
    }
    let mini_batches = responses.div_ceil(configured);
    remaining.div_ceil(mini_batches).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_touches_either_the_reward_or_the_update() {
        let soft = Overlong::SoftBuffer(SoftBuffer { buffer_tokens: 20, penalty_factor: 0.5 });
        let penalty = soft.penalty(100).unwrap().unwrap();
        let penalties: Vec<f64> = [80, 90, 100].map(|tokens| penalty.penalty(tokens)).to_vec();
        assert_eq!(penalties, [0.0, -0.25, -0.5]);
        assert_eq!(Overlong::Mask.penalty(100).unwrap(), None);
        assert!(Overlong::Mask.takes_part(false) && !Overlong::Mask.takes_part(true));
        assert_eq!(Overlong::None.penalty(100).unwrap(), None);
        assert!(Overlong::None.takes_part(true) && soft.takes_part(true));
    }

    #[test]
    fn masked_responses_make_mini_batches_smaller_and_not_fewer() {
        assert_eq!(mini_batch_size(8, 20, 20), 8);
        for (remaining, size) in [(19, 7), (18, 6), (9, 3), (2, 1), (0, 1)] {
            assert_eq!(mini_batch_size(8, 20, remaining), size, "{remaining} of 20");
        }
    }
}
