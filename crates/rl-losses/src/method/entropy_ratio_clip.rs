//! ERC: drop tokens whose entropy changed too much.

use serde::{Deserialize, Serialize};

use crate::{
    batch::{Column, TokenBatch},
    fast::real::Real,
    method::policy_method::{PolicyMethod, Visitor},
    parameter::{ParameterError, Settings, check_not_negative, checked_when_read},
    plan_summary::PlanSummary,
    surrogate::{ClipRange, LOG_RATIO_LIMIT, Surrogate},
    term::{Scored, Token, TokenLoss},
};

/// The clipped surrogate without the tokens whose entropy, over that before the first update, has left
/// an open band. Needs the columns `entropy` and `old_entropy`.
///
/// Selected are the tokens that are dropped. Where both entropies are 0 nothing has changed: 1e-8 is
/// added to both, as in the authors' code.
///
/// Default: the band of the released 7B script, 0.95 to 1.05, over DAPO's clip.
///
/// Source: Su et al. 2025, [Eq. 8](https://arxiv.org/abs/2512.05591); row 42 of
/// `docs/paper-vs-code.md`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct EntropyRatioClip {
    /// Smallest ratio of a token's entropies, now to before, that stays.
    pub entropy_ratio_low: f64,
    /// Largest ratio of a token's entropies that stays.
    pub entropy_ratio_high: f64,
    /// Largest fall of the ratio below 1.
    pub clip_ratio_low: f64,
    /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
    pub clip_ratio_high: f64,
}

impl Default for EntropyRatioClip {
    fn default() -> Self {
        Self {
            entropy_ratio_low: 0.95,
            entropy_ratio_high: 1.05,
            clip_ratio_low: 0.2,
            clip_ratio_high: 0.28,
        }
    }
}

impl Settings for EntropyRatioClip {
    fn check(&self) -> Result<(), ParameterError> {
        ClipRange::new(self.clip_ratio_low, self.clip_ratio_high)?;
        let (low_field, high_field) = ("entropy_ratio_low", "entropy_ratio_high");
        let low = check_not_negative(low_field, self.entropy_ratio_low)?;
        let high = check_not_negative(high_field, self.entropy_ratio_high)?;
        if low < high {
            Ok(())
        } else {
            Err(ParameterError::Order { low_field, low, high_field, high })
        }
    }
}

checked_when_read!(EntropyRatioClip);

/// Added to both entropies before they are divided, in nats.
const SMALLEST_ENTROPY: f64 = 1e-8;

impl TokenLoss for EntropyRatioClip {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high).score(token);
        if token.selected { Scored::dropped() } else { scored }
    }

    #[inline(always)]
    fn log_ratio_limit(&self) -> Option<f64> {
        Some(LOG_RATIO_LIMIT)
    }
}

impl PolicyMethod for EntropyRatioClip {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }

    /// Positions of the tokens outside the band; none without the columns.
    fn select<R: Real>(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Vec<usize> {
        let new = batch.column(Column::Entropy).unwrap_or_default();
        let old = batch.column(Column::OldEntropy).unwrap_or_default();
        let outside = |(_, (new, old)): &(usize, (&R, &R))| {
            let ratio = (new.to_f64() + SMALLEST_ENTROPY) / (old.to_f64() + SMALLEST_ENTROPY);
            !(self.entropy_ratio_low < ratio && ratio < self.entropy_ratio_high)
        };
        let pairs = std::iter::zip(new, old).enumerate();
        pairs.filter(outside).map(|(token, _)| token).collect()
    }
}
