//! CISPO: clip the weight, keep every token's gradient.

use serde::{Deserialize, Serialize};

use crate::{
    ClipRange, ParameterError, Real, Term,
    parameter::check_not_negative,
    settings::{Settings, checked_when_read},
    surrogate::{LOG_RATIO_LIMIT, limited},
    token_loss::{Scored, Token, TokenLoss},
};

/// `-w A log π_θ` with the ratio, clipped and not differentiated, as its weight:
/// `w = clip(r, 1 - low, 1 + high)`.
///
/// Default: no lower bound and at most 5, as tuned by `ScaleRL` (arXiv:2510.13786); a bound from below
/// only keeps gradients of tokens that are gone already.
///
/// Source: `MiniMax` 2025, [Eq. 4](https://arxiv.org/abs/2506.13585).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Cispo {
    /// How far the weight may fall below 1.
    pub clip_ratio_low: f64,
    /// How far it may rise above 1.
    pub clip_ratio_high: f64,
}

impl Default for Cispo {
    fn default() -> Self {
        Self { clip_ratio_low: 1.0, clip_ratio_high: 4.0 }
    }
}

impl Settings for Cispo {
    fn check(&self) -> Result<(), ParameterError> {
        ClipRange::new(self.clip_ratio_low, self.clip_ratio_high).map(drop)
    }
}

impl TokenLoss for Cispo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let ratio = limited(token.detached_log_ratio()).exp();
        let (low, high) = (R::of(1.0 - self.clip_ratio_low), R::of(1.0 + self.clip_ratio_high));
        let weight = ratio.held(low, high);
        let clipped = weight != ratio;
        let term = Term::score_function(weight, token.advantage, token.log_prob);
        Scored { clipped, ..Scored::open(term, clipped) }
    }

    #[inline(always)]
    fn log_ratio_limit(&self) -> Option<f64> {
        Some(LOG_RATIO_LIMIT)
    }
}

/// `-A log π_θ`: REINFORCE, or GPG with its advantages. Off-policy it has no correction at all, unless
/// the plan's weights bring one ([`StepPlan::reweight`](crate::StepPlan::reweight)).
///
/// Source: Williams 1992; Chu et al. 2025, GPG, [Eq. 5](https://arxiv.org/abs/2504.02546).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreFunction {}

impl Settings for ScoreFunction {
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }
}

impl TokenLoss for ScoreFunction {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let term = Term::score_function(R::of(1.0), token.advantage, token.log_prob);
        Scored::open(term, token.log_ratio() != R::of(0.0))
    }
}

/// `-(A log π_θ - β/2 (log r)²)`: direct reward optimisation, a quadratic pull to the old policy on
/// every token.
///
/// Default: `β = 0.05`; there is no published one (verl asks for it).
///
/// Source: Richemond et al. 2024, DRO, [Eq. 6](https://arxiv.org/abs/2405.19107); verl `dro`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Dro {
    /// Strength of the pull, reward per squared nat.
    pub beta: f64,
}

impl Default for Dro {
    fn default() -> Self {
        Self { beta: 0.05 }
    }
}

impl Settings for Dro {
    fn check(&self) -> Result<(), ParameterError> {
        check_not_negative("beta", self.beta).map(drop)
    }
}

impl TokenLoss for Dro {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (x, beta) = (token.log_ratio(), R::of(self.beta));
        let pull = Term { value: R::of(0.5) * beta * x * x, d_log_prob: beta * x };
        let term = Term::score_function(R::of(1.0), token.advantage, token.log_prob).plus(pull);
        Scored::open(term, x != R::of(0.0))
    }
}

checked_when_read!(Cispo, Dro);
