//! The scalar core: one token's loss and its derivative.

use crate::fast::real::Real;

/// One token's loss and `∂ℓ/∂log π_θ(y_t)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term<R = f64> {
    /// Loss, to be minimised.
    pub value: R,
    /// Derivative with respect to the current log-probability.
    pub d_log_prob: R,
}

impl<R: Real> Term<R> {
    /// A value that does not depend on the log-probability.
    #[inline(always)]
    pub(crate) fn flat(value: R) -> Self {
        Self { value, d_log_prob: R::of(0.0) }
    }

    /// A multiple of a probability ratio: it is its own derivative.
    #[inline(always)]
    pub(crate) fn exponential(value: R) -> Self {
        Self { value, d_log_prob: value }
    }

    /// `-weight · A · log π_θ`, with a weight that is not differentiated.
    #[inline(always)]
    pub(crate) fn score_function(weight: R, advantage: R, log_prob: R) -> Self {
        let slope = -weight * advantage;
        Self { value: slope * log_prob, d_log_prob: slope }
    }

    /// Value and slope times `factor`.
    #[inline(always)]
    pub(crate) fn times(self, factor: R) -> Self {
        Self { value: factor * self.value, d_log_prob: factor * self.d_log_prob }
    }

    /// The sum of two losses.
    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, d_log_prob: self.d_log_prob + other.d_log_prob }
    }
}

/// One token as a loss sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Token<R = f64> {
    /// Log-probability under the policy being updated, in nats: what the loss is differentiated by.
    pub log_prob: R,
    /// Log-probability before the first update, in nats.
    pub old_log_prob: R,
    /// The value of `log_prob` in whatever the method takes as a constant (its stop-gradients).
    pub detached_log_prob: R,
    /// `π_θ / π_old`: the exponential of [`log_ratio`](Self::log_ratio), clamped to the loss's
    /// [limit](TokenLoss::log_ratio_limit), and where it is neither 0 nor infinite.
    pub ratio: R,
    /// True if [`ratio`](Self::ratio) is clamped and does not move with `log_prob`: the log-ratio is beyond the limit.
    pub held: bool,
    /// Advantage.
    pub advantage: R,
    /// The method's constant of this token, from the plan; its meaning depends on the method.
    pub constant: R,
    /// True if the plan singles this token out.
    pub selected: bool,
}

impl<R: Real> Token<R> {
    /// `log π_θ - log π_old`, in nats.
    #[inline(always)]
    pub fn log_ratio(&self) -> R {
        self.log_prob - self.old_log_prob
    }

    /// `log π_θ - log π_old` with the detached log-probability, in nats.
    #[inline(always)]
    pub fn detached_log_ratio(&self) -> R {
        self.detached_log_prob - self.old_log_prob
    }
}

/// Numbers of a mini-batch that the constants of all its tokens are made of; their meaning depends on the method.
pub type Shared = [f64; 5];

/// Numbers that a token's constant is made of, all constants of the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sources {
    /// Number from the plan, one for every token; its meaning depends on the method.
    pub planned: f64,
    /// Log-probability under the policy being updated, in nats.
    pub log_prob: f64,
    /// Log-probability before the first update, in nats.
    pub old_log_prob: f64,
    /// Advantage.
    pub advantage: f64,
    /// The optional column that the method reads; 0 without one.
    pub column: f64,
    /// Numbers from the plan of methods that need several; 0 in others.
    pub shared: Shared,
}

/// The outcome of a loss at a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<R = f64> {
    /// Loss and slope.
    pub term: Term<R>,
    /// True if the token lies on the flat part of a clip, or the method clamps its weight there.
    pub clipped: bool,
    /// True if the token is at the dual clip's ceiling.
    pub ceiling: bool,
    /// True if the slope differs from that of the plain surrogate `-r A`.
    pub altered: bool,
}

impl<R: Real> Scored<R> {
    /// A term that no bound touched; `altered` says whether its slope is another than that of `-r A`.
    #[inline(always)]
    pub fn open(term: Term<R>, altered: bool) -> Self {
        Self { term, clipped: false, ceiling: false, altered }
    }

    /// Flat if the ratio is `held`.
    #[inline(always)]
    pub(crate) fn flat_if(mut self, held: bool) -> Self {
        if held {
            self.term = Term::flat(self.term.value);
            self.altered = true;
        }
        self
    }

    /// The loss times `factor`.
    #[inline(always)]
    pub(crate) fn times(self, factor: R) -> Self {
        let altered = self.altered | (factor != R::of(1.0));
        Self { term: self.term.times(factor), altered, ..self }
    }

    /// A token without a loss.
    #[inline(always)]
    pub(crate) fn dropped() -> Self {
        Self::open(Term::flat(R::of(0.0)), true)
    }
}

/// A loss, as one token's value and slope.
///
/// Those of the registry are [`PolicyLoss`](crate::PolicyLoss); a custom loss runs by
/// [`evaluate_loss`](crate::evaluate_loss), as `examples/custom_loss.rs` shows, or in a trainer as [`CustomLoss`](crate::CustomLoss). It runs in vectors as long as it is
/// straight-line code where the token is not selected.
pub trait TokenLoss: Sync {
    /// The loss of one token, and its derivative with respect to [`Token::log_prob`].
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R>;

    /// The constant of a token ([`Token::constant`]), where the method makes it of a column as the loss is evaluated.
    #[inline(always)]
    fn constant(&self, sources: Sources) -> f64 {
        sources.planned
    }

    /// Absolute value that the log-ratio is clamped to, in nats, in [`Token::ratio`] and in the reported means.
    ///
    /// Without a limit, or with one past the exponential's own ([`Real::EXP_LIMIT`]), the ratio is clamped at the latter and
    /// the means are of log-ratios as they are.
    fn log_ratio_limit(&self) -> Option<f64> {
        None
    }
}

/// A loss of one token, or settings that make one.
pub(crate) trait Visited {
    /// Hands the loss of one token to `visitor`.
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output;
}

impl<L: TokenLoss> Visited for L {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// Something to do with the loss of one token, compiled for each method.
pub(crate) trait Visitor {
    type Output;

    fn visit<L: TokenLoss>(self, loss: &L) -> Self::Output;
}
