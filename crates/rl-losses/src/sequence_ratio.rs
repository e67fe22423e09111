//! Losses whose ratio is that of a whole sequence: GSPO and GMPO.

use serde::{Deserialize, Serialize};

use crate::{
    ClipRange, ParameterError, Real, Term, TokenBatch,
    settings::{Settings, checked_when_read},
    spread::Spread,
    surrogate::Surrogate,
    token_loss::{Scored, Token, TokenLoss},
};

/// Log of the token's ratio beyond which it is held, in nats (verl).
const CAP: f64 = 10.0;

/// Clipped surrogate of the sequence's ratio, `s_i = exp(mean log r)` over its tokens; each token's own
/// ratio carries its gradient: `s_i · r_t / sg(r_t)`.
///
/// The mean is over the sequence as planned, so a sequence may be split between evaluations. The
/// published aggregation is `seq-mean-token-mean`.
///
/// Default: the paper's bounds, `3e-4` and `4e-4`.
///
/// Source: Zheng et al. 2025, [Eq. 5](https://arxiv.org/abs/2507.18071), GSPO-token of its Sec. 4.3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Gspo {
    /// How far the sequence's ratio may fall below 1.
    pub clip_ratio_low: f64,
    /// How far it may rise above 1.
    pub clip_ratio_high: f64,
}

impl Default for Gspo {
    fn default() -> Self {
        Self { clip_ratio_low: 3e-4, clip_ratio_high: 4e-4 }
    }
}

impl Settings for Gspo {
    fn check(&self) -> Result<(), ParameterError> {
        ClipRange::new(self.clip_ratio_low, self.clip_ratio_high).map(drop)
    }
}

impl Gspo {
    /// Mean log-ratio of each sequence, in nats.
    pub(crate) fn constants<R: Real>(batch: &TokenBatch<'_, R>) -> Spread {
        per_sequence(batch, |log_ratio, _| log_ratio, |mean, _| mean)
    }
}

impl TokenLoss for Gspo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let cap = R::of(CAP);
        let log_ratio = token.constant + (token.log_prob - token.detached_log_prob);
        let clip = ClipRange { low: self.clip_ratio_low, high: self.clip_ratio_high };
        let mut scored = Surrogate::of(clip).at_ratio(log_ratio.lesser(cap).exp(), token.advantage);
        if log_ratio > cap {
            scored.term = Term::flat(scored.term.value);
        }
        // The sequence's ratio stands for the token's: another slope wherever they differ.
        scored.altered |= token.constant != token.detached_log_ratio();
        scored
    }
}

/// Minus the sequence's mean advantage times the geometric mean of its tokens' ratios, each clipped in
/// the log on the side its advantage pushes it to.
///
/// A token's value is that of its sequence, so that `seq-mean-token-mean`, the published aggregation,
/// gives the published loss.
///
/// Default: the paper's bounds, 0.4 nats on both sides.
///
/// Source: Zhao et al. 2025, [Eq. 4](https://arxiv.org/abs/2507.20673).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Gmpo {
    /// How far a log-ratio may fall below 0, in nats.
    pub clip_ratio_low: f64,
    /// How far it may rise above 0, in nats.
    pub clip_ratio_high: f64,
}

impl Default for Gmpo {
    fn default() -> Self {
        Self { clip_ratio_low: 0.4, clip_ratio_high: 0.4 }
    }
}

impl Settings for Gmpo {
    fn check(&self) -> Result<(), ParameterError> {
        ClipRange::new(self.clip_ratio_low, self.clip_ratio_high).map(drop)
    }
}

checked_when_read!(Gspo, Gmpo);

impl Gmpo {
    /// `-mean A · exp(mean clipped log r)` of each sequence.
    pub(crate) fn constants<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Spread {
        let loss = |mean: f64, mean_advantage: f64| -mean_advantage * mean.exp();
        per_sequence(batch, |log_ratio, advantage| self.clipped(log_ratio, advantage).0, loss)
    }

    /// The log-ratio as it counts, and whether a bound holds it.
    #[inline(always)]
    fn clipped<R: Real>(&self, log_ratio: R, advantage: R) -> (R, bool) {
        let (zero, low, high) =
            (R::of(0.0), R::of(-self.clip_ratio_low), R::of(self.clip_ratio_high));
        let counted = if advantage > zero {
            log_ratio.lesser(high)
        } else if advantage < zero {
            log_ratio.greater(low)
        } else {
            zero
        };
        (counted, counted != log_ratio)
    }
}

impl TokenLoss for Gmpo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (live, clipped) = self.clipped(token.log_ratio(), token.advantage);
        let (detached, _) = self.clipped(token.detached_log_ratio(), token.advantage);
        let value = token.constant * (live - detached).exp();
        let pushed = token.advantage != R::of(0.0);
        let term = if clipped | !pushed { Term::flat(value) } else { Term::exponential(value) };
        // On-policy the slope is the plain one if the sequence has one advantage, to rounding.
        let excess = (token.constant + token.advantage).magnitude();
        let altered = excess > R::of(1e-6) * token.advantage.magnitude();
        Scored { clipped: clipped & pushed, ..Scored::open(term, altered | clipped) }
    }
}

/// `finish(mean of take(log r, A), mean A)` of each sequence.
fn per_sequence<R: Real>(
    batch: &TokenBatch<'_, R>,
    take: impl Fn(f64, f64) -> f64,
    finish: impl Fn(f64, f64) -> f64,
) -> Spread {
    let mut start = 0;
    let values = batch.sequence_lengths().iter().map(|&length| {
        let run = start..start + length;
        start = run.end;
        let (mut sum, mut advantages) = (0.0, 0.0);
        for token in run {
            let advantage = batch.advantage()[token].to_f64();
            let log_ratio = (batch.log_prob()[token] - batch.old_log_prob()[token]).to_f64();
            sum += take(log_ratio, advantage);
            advantages += advantage;
        }
        let length = length.max(1) as f64;
        finish(sum / length, advantages / length)
    });
    Spread::per_sequence(values.collect(), batch.sequence_lengths())
}
