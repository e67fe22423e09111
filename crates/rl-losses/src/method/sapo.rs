//! SAPO: a smooth gate in place of the clip.

use serde::{Deserialize, Serialize};

use crate::{
    fast::real::Real,
    method::policy_method::{PolicyMethod, Visitor},
    parameter::{ParameterError, Settings, check, checked_when_read},
    surrogate::LOG_RATIO_LIMIT,
    term::{Scored, Term, Token, TokenLoss},
};

/// `-g(r) A` with the gate `g(r) = 4/τ · σ(τ (r - 1))`, its own temperature for each sign of the
/// advantage. The gate has slope 1 at `r = 1` and levels off on both sides.
///
/// Default: the paper's temperatures, 1 and 1.05 (negative advantages fade sooner, as they spread over
/// the whole vocabulary).
///
/// Source: Gao et al. 2025, [Eq. 6](https://arxiv.org/abs/2511.20347).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Sapo {
    /// Temperature of the gate for positive advantages, above 0.
    pub temperature_positive: f64,
    /// Temperature of the gate elsewhere, above 0.
    pub temperature_negative: f64,
}

impl Default for Sapo {
    fn default() -> Self {
        Self { temperature_positive: 1.0, temperature_negative: 1.05 }
    }
}

impl Settings for Sapo {
    fn check(&self) -> Result<(), ParameterError> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let expected = "a finite number above 0";
        check("temperature_positive", self.temperature_positive, expected, positive)?;
        check("temperature_negative", self.temperature_negative, expected, positive).map(drop)
    }
}

checked_when_read!(Sapo);

impl TokenLoss for Sapo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (one, four) = (R::of(1.0), R::of(4.0));
        let (x, ratio) = (token.log_ratio(), token.ratio);
        let positive = token.advantage > R::of(0.0);
        let (tau, scale) = if positive {
            (R::of(self.temperature_positive), R::of(4.0 / self.temperature_positive))
        } else {
            (R::of(self.temperature_negative), R::of(4.0 / self.temperature_negative))
        };
        // σ and 1 - σ from e^-|z|, which does not overflow.
        let z = tau * (ratio - one);
        let tail = (-z.magnitude()).exp();
        let share = one / (one + tail);
        let (sigma, complement) =
            if z > R::of(0.0) { (share, tail * share) } else { (tail * share, share) };
        let slope = -four * sigma * complement * ratio * token.advantage;
        let term = Term {
            value: -scale * sigma * token.advantage,
            d_log_prob: if token.held { R::of(0.0) } else { slope },
        };
        Scored::open(term, x != R::of(0.0))
    }

    #[inline(always)]
    fn log_ratio_limit(&self) -> Option<f64> {
        Some(LOG_RATIO_LIMIT)
    }
}

impl PolicyMethod for Sapo {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
