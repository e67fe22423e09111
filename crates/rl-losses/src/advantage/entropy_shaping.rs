//! Advantages raised where the policy was uncertain.

use serde::{Deserialize, Serialize};

use super::columns::AdvantageError;
use crate::{
    ParameterError,
    parameter::{check, check_not_negative},
    settings::{Settings, checked_when_read},
};

/// Entropy-shaped advantages: how much uncertainty adds, and the most it may.
///
/// Default: `α = 0.4`, `κ = 2`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct EntropyShaping {
    /// `α`, reward per nat, 0 or above.
    pub coefficient: f64,
    /// `κ`, above 1: what is added is at most `|A| / κ`, so no sign turns.
    pub limit: f64,
}

impl Default for EntropyShaping {
    fn default() -> Self {
        Self { coefficient: 0.4, limit: 2.0 }
    }
}

impl Settings for EntropyShaping {
    fn check(&self) -> Result<(), ParameterError> {
        check_not_negative("coefficient", self.coefficient)?;
        check("limit", self.limit, "a finite number above 1", |x| x.is_finite() && x > 1.0)
            .map(drop)
    }
}

checked_when_read!(EntropyShaping);

/// `A_t + min(α H_t, |A_t| / κ)`, `[tokens]`. The entropy is a constant here: it has no gradient.
///
/// `advantage` and `entropy` (nats) are `[tokens]`.
///
/// Source: Cheng et al. 2025, [arXiv:2506.14758](https://arxiv.org/abs/2506.14758), Eq. 4.
///
/// # Errors
///
/// [`AdvantageError`] if the columns differ in length, a value is not finite, or a setting is out of
/// its range.
pub fn entropy_shaped_advantages(
    advantage: &[f64],
    entropy: &[f64],
    settings: EntropyShaping,
) -> Result<Vec<f64>, AdvantageError> {
    settings.check()?;
    let tokens = [advantage.len()];
    super::columns::check_tokens("advantage", advantage, &tokens)?;
    super::columns::check_tokens("entropy", entropy, &tokens)?;
    let shaped = std::iter::zip(advantage, entropy)
        .map(|(a, h)| a + (settings.coefficient * h).min(a.abs() / settings.limit));
    Ok(shaped.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertainty_adds_but_never_turns_a_sign() {
        let shaped = entropy_shaped_advantages(
            &[1.0, 1.0, -1.0, 0.0],
            &[0.5, 9.0, 9.0, 9.0],
            EntropyShaping::default(),
        );
        assert_eq!(shaped.unwrap(), [1.2, 1.5, -0.5, 0.0]);
    }
}
