//! What a loss is: one token's value and slope.

use crate::{Real, Term};

/// One token as a loss sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Token<R = f64> {
    /// Log-probability under the policy being updated, in nats: what the loss is differentiated by.
    pub log_prob: R,
    /// Log-probability before the first update, in nats.
    pub old_log_prob: R,
    /// The value of `log_prob` in whatever the method takes as a constant (its stop-gradients).
    pub detached_log_prob: R,
    /// `π_θ / π_old`: the exponential of [`log_ratio`](Self::log_ratio), held to the loss's
    /// [limit](TokenLoss::log_ratio_limit), and where it is neither 0 nor infinite.
    pub ratio: R,
    /// Whether [`ratio`](Self::ratio) is held, so that it does not move with `log_prob`: the log-ratio is beyond the limit.
    pub held: bool,
    /// Advantage.
    pub advantage: R,
    /// The method's own constant of this token, from the plan; what it is, the method says.
    pub constant: R,
    /// Whether the plan singles this token out.
    pub selected: bool,
}

impl<R: Real> Token<R> {
    /// `log π_θ - log π_old`, in nats.
    #[inline(always)]
    pub fn log_ratio(&self) -> R {
        self.log_prob - self.old_log_prob
    }

    /// The same of the detached log-probability.
    #[inline(always)]
    pub fn detached_log_ratio(&self) -> R {
        self.detached_log_prob - self.old_log_prob
    }
}

/// What a loss makes of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<R = f64> {
    /// Loss and slope.
    pub term: Term<R>,
    /// Whether the token lies on the flat part of a clip, or the method holds its weight there.
    pub clipped: bool,
    /// Whether it is held at the dual clip's ceiling.
    pub ceiling: bool,
    /// Whether the slope is another than that of the plain surrogate `-r A`.
    pub altered: bool,
}

impl<R: Real> Scored<R> {
    /// A term that no bound touched; `altered` says whether its slope is another than that of `-r A`.
    #[inline(always)]
    pub fn open(term: Term<R>, altered: bool) -> Self {
        Self { term, clipped: false, ceiling: false, altered }
    }

    /// The same, flat if the ratio is `held`.
    #[inline(always)]
    pub(crate) fn flat_if(mut self, held: bool) -> Self {
        if held {
            self.term = Term::flat(self.term.value);
            self.altered = true;
        }
        self
    }

    /// A token without a loss.
    #[inline(always)]
    pub(crate) fn dropped() -> Self {
        Self::open(Term::flat(R::of(0.0)), true)
    }
}

/// A method, as one token's value and slope.
///
/// Those of the registry are [`PolicyLoss`](crate::PolicyLoss); one of one's own runs by
/// [`evaluate_loss`](crate::evaluate_loss), as `examples/custom_loss.rs` shows. It runs in vectors as long as it is
/// straight-line code where the token is not selected.
pub trait TokenLoss: Sync {
    /// The loss of one token, and its derivative with respect to [`Token::log_prob`].
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R>;

    /// The log-ratio is held to this and minus this, in nats, in [`Token::ratio`] and in the reported means.
    ///
    /// Without a limit, or with one past the exponential's own ([`Real::EXP_LIMIT`]), the ratio is held at the latter and
    /// the means are of log-ratios as they are.
    #[inline(always)]
    fn log_ratio_limit(&self) -> Option<f64> {
        None
    }
}
