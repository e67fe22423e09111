//! The clipped surrogate that most losses share.

use crate::{ParameterError, Real, Scored, Term, Token, TokenLoss, parameter::check_not_negative};

/// Largest `|log r|`, in nats. Beyond it the ratio is constant: `exp` stays far from overflow and
/// the token gives no gradient.
///
/// Source: verl `core_algos`, `compute_policy_loss_vanilla`; row 15 of `docs/paper-vs-code.md`.
pub(crate) const LOG_RATIO_LIMIT: f64 = 20.0;

/// `log_ratio`, clamped to ±[`LOG_RATIO_LIMIT`].
#[inline(always)]
pub(crate) fn limited<R: Real>(log_ratio: R) -> R {
    log_ratio.held(R::of(-LOG_RATIO_LIMIT), R::of(LOG_RATIO_LIMIT))
}

/// Trust region of the importance ratio, `[1 - low, 1 + high]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl ClipRange {
    /// A region that reaches `low` below 1 and `high` above; `high > low` is clip-higher (DAPO).
    ///
    /// # Errors
    ///
    /// [`ParameterError::OutOfRange`] unless both are finite and not negative.
    pub fn new(low: f64, high: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            low: check_not_negative("clip_ratio_low", low)?,
            high: check_not_negative("clip_ratio_high", high)?,
        })
    }

    /// Returns true if the surrogate is flat here: the ratio has left the region on the side the
    /// advantage pushes it to.
    pub fn is_clipped(self, log_ratio: f64, advantage: f64) -> bool {
        Surrogate::of(self).clips(Real::exp(log_ratio), advantage)
    }
}

/// The clipped surrogate with all its bounds; each may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surrogate {
    /// Trust region of the ratio.
    pub(crate) clip: ClipRange,
    /// Ceiling on the ratio where the advantage is negative.
    pub(crate) ceiling: f64,
    /// Absolute value that the log-ratio is clamped to, in nats.
    pub(crate) limit: f64,
}

impl Surrogate {
    /// `-r A`, without any bound.
    pub(crate) const PLAIN: Self = {
        let clip = ClipRange { low: f64::INFINITY, high: f64::INFINITY };
        Self { clip, ceiling: f64::INFINITY, limit: f64::INFINITY }
    };

    /// Clipped, without dual clip and without a limit on the log-ratio.
    pub(crate) const fn of(clip: ClipRange) -> Self {
        Self { clip, ..Self::PLAIN }
    }

    /// Clipped, the log-ratio clamped to ±20 nats.
    pub(crate) const fn limited(low: f64, high: f64) -> Self {
        Self { limit: LOG_RATIO_LIMIT, ..Self::of(ClipRange { low, high }) }
    }

    #[inline(always)]
    pub(crate) fn clips<R: Real>(self, ratio: R, advantage: R) -> bool {
        let zero = R::of(0.0);
        let above = (advantage > zero) & (ratio > R::of(1.0 + self.clip.high));
        let below = (advantage < zero) & (ratio < R::of(1.0 - self.clip.low));
        above | below
    }

    /// One token's loss at a ratio, whose logarithm is within the limit.
    #[inline(always)]
    pub(crate) fn at_ratio<R: Real>(self, ratio: R, advantage: R) -> Scored<R> {
        let (low, high) = (R::of(1.0 - self.clip.low), R::of(1.0 + self.clip.high));
        clipped_at(ratio, advantage, [low, high, R::of(self.ceiling)])
    }
}

/// The clipped surrogate at a ratio: at most `high` counts of it where the advantage is not negative, at least `low` and at most
/// `ceiling` where it is.
#[inline(always)]
pub(crate) fn clipped_at<R: Real>(
    ratio: R,
    advantage: R,
    [low, high, ceiling]: [R; 3],
) -> Scored<R> {
    let zero = R::of(0.0);
    let bad = advantage < zero;
    let risen = ratio.lesser(high);
    let fallen = ratio.greater(low).lesser(ceiling);
    let counted = if bad { fallen } else { risen };
    let flat = (counted != ratio) & (advantage != zero);
    let at_ceiling = bad & (ratio > ceiling);
    let value = -counted * advantage;
    let term = Term { value, d_log_prob: if flat { zero } else { value } };
    // At the ceiling the loss is flat too; the rest of the flat is the clip's.
    Scored { term, clipped: flat ^ at_ceiling, ceiling: at_ceiling, altered: flat }
}

impl TokenLoss for Surrogate {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        self.at_ratio(token.ratio, token.advantage).flat_if(token.held)
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        Some(self.limit)
    }
}

/// The limit of a [`TokenLoss`] whose log-ratios are clamped to ±[`LOG_RATIO_LIMIT`].
macro_rules! limited_log_ratio {
    () => {
        fn log_ratio_limit(&self) -> Option<f64> {
            Some($crate::surrogate::LOG_RATIO_LIMIT)
        }
    };
}
pub(crate) use limited_log_ratio;

/// The surrogate, and neither value nor gradient for selected tokens: they stay in the denominator.
pub(crate) struct Dropping(pub(crate) Surrogate);

impl TokenLoss for Dropping {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = self.0.score(token);
        if token.selected { Scored::dropped() } else { scored }
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        self.0.log_ratio_limit()
    }
}
