//! STEER: weigh tokens by how much they change the entropy.

use std::iter::zip;

use serde::{Deserialize, Serialize};

use crate::{
    ClipRange, Column, ParameterError, PlanSummary, Real, TokenBatch,
    constants::{Constants, Sources},
    parameter::check,
    settings::{Settings, checked_when_read},
    surrogate::{LOG_RATIO_LIMIT, Surrogate, limited},
    token_loss::{Scored, Token, TokenLoss},
};

/// Smallest scale of the change of entropy, in nats·reward: below it no token is held back.
const SMALLEST_SCALE: f64 = 0.02;

/// The clipped surrogate, each token weighed by `e^(-k |Ω|)` with the change of entropy it brings to
/// first order,
///
/// ```text
/// Ω = A/π_old · π (1 - π) (ln π + H),    k = -ln λ / max(max |Ω|, 0.02)
/// ```
///
/// so that the token of largest change has the weight `λ`. Needs the column `entropy`; the maximum is
/// over the mini-batch, and the ratio in `Ω` is held to e^±20 as the surrogate's is.
///
/// Default: `λ = 0.8` as published, over clip-higher.
///
/// Source: Hao et al. 2025, [Eq. 9](https://arxiv.org/abs/2510.10150).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Steer {
    /// Weight `λ` of the token of largest change, above 0 and at most 1.
    pub smallest_weight: f64,
    /// How far the ratio may fall below 1.
    pub clip_ratio_low: f64,
    /// How far the ratio may rise above 1.
    pub clip_ratio_high: f64,
}

impl Default for Steer {
    fn default() -> Self {
        Self { smallest_weight: 0.8, clip_ratio_low: 0.2, clip_ratio_high: 0.28 }
    }
}

impl Settings for Steer {
    fn check(&self) -> Result<(), ParameterError> {
        ClipRange::new(self.clip_ratio_low, self.clip_ratio_high)?;
        let share = |x: f64| x > 0.0 && x <= 1.0;
        let expected = "a number above 0 and at most 1";
        check("smallest_weight", self.smallest_weight, expected, share).map(drop)
    }
}

checked_when_read!(Steer);

impl Steer {
    /// `Ω` of each token; `own` of the columns is the entropy.
    pub(crate) fn changes<R: Real>(sources: Sources<'_, R>) -> impl Iterator<Item = f64> {
        let Sources { log_prob, old_log_prob, advantage, own: entropy } = sources;
        zip(zip(log_prob, old_log_prob), zip(advantage, entropy)).map(
            |((log_prob, old_log_prob), (advantage, entropy))| {
                let log_prob = log_prob.to_f64();
                let log_ratio = limited(log_prob - old_log_prob.to_f64());
                let rest = -log_prob.min(0.0).exp_m1();
                advantage.to_f64() * log_ratio.exp() * rest * (log_prob + entropy.to_f64())
            },
        )
    }

    /// The largest `|Ω|` of a part of the mini-batch.
    pub(crate) fn largest<R: Real>(batch: &TokenBatch<'_, R>) -> f64 {
        let sources = Sources {
            log_prob: batch.log_prob(),
            old_log_prob: batch.old_log_prob(),
            advantage: batch.advantage(),
            own: batch.column(Column::Entropy).unwrap_or_default(),
        };
        Self::changes(sources).fold(0.0, |largest, change| largest.max(change.abs()))
    }

    /// The weight of a token with this `Ω`.
    pub(crate) fn weight(rate: f64, change: f64) -> f64 {
        (-rate * change.abs()).exp()
    }

    /// How fast weights fall, given the largest `|Ω|` of the mini-batch.
    pub(crate) fn constants(&self, summary: &PlanSummary) -> Constants {
        let rate = -self.smallest_weight.ln() / summary.largest.max(SMALLEST_SCALE);
        Constants::EntropyChange { rate }
    }
}

impl TokenLoss for Steer {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high).score(token);
        let altered = scored.altered | (token.constant != R::of(1.0));
        Scored { term: scored.term.times(token.constant), altered, ..scored }
    }

    #[inline(always)]
    fn log_ratio_limit(&self) -> Option<f64> {
        Some(LOG_RATIO_LIMIT)
    }
}
