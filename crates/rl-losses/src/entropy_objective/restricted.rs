//! Entropy over the part of the vocabulary that matters.

use entropy_core::{Categorical, LogitsError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    ParameterError,
    parameter::{check, check_fraction},
};

/// Which actions of a distribution an entropy is taken over.
///
/// A plain bonus over a vocabulary of 150 000 tokens is spent on the tail, which the policy never
/// samples; both methods leave the tail out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restriction {
    /// The fewest most probable actions that hold at least this probability, above 0 and at most 1:
    /// SIREN (0.8).
    Nucleus(f64),
    /// All but this share of the actions, the least probable, `0..1`: `AEnt` (0.3). At least one is
    /// kept.
    DropLowest(f64),
}

impl Restriction {
    fn check(self) -> Result<(), ParameterError> {
        match self {
            Self::Nucleus(mass) => check_fraction("nucleus", mass).map(drop),
            Self::DropLowest(share) => {
                let holds = |x: f64| (0.0..1.0).contains(&x);
                check("drop_lowest", share, "0 or above and below 1", holds).map(drop)
            }
        }
    }

    /// How many of the most probable actions are kept.
    fn kept(self, descending: &[f64]) -> usize {
        match self {
            Self::Nucleus(mass) => {
                let mut held = 0.0;
                // The slack keeps a nucleus of 1 from losing an action to rounding of the sum.
                let enough = descending.iter().position(|probability| {
                    held += probability;
                    held >= mass * (1.0 - 1e-12)
                });
                enough.map_or(descending.len(), |last| last + 1)
            }
            Self::DropLowest(share) => {
                let dropped = (1..=descending.len())
                    .take_while(|&count| count as f64 <= share * descending.len() as f64 + 1e-9);
                (descending.len() - dropped.count()).max(1)
            }
        }
    }
}

/// Why there is no restricted entropy.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum RestrictedEntropyError {
    /// The logits make no distribution.
    #[error(transparent)]
    Logits(#[from] LogitsError),
    /// The restriction is out of its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// A distribution restricted to part of its actions and renormalised.
#[derive(Debug, Clone, PartialEq)]
pub struct RestrictedEntropy {
    restricted: Categorical,
}

impl RestrictedEntropy {
    /// Entropy of the renormalised distribution, in nats.
    pub fn entropy(&self) -> f64 {
        self.restricted.entropy()
    }

    /// Number of actions it is taken over.
    pub fn kept(&self) -> usize {
        self.restricted.support()
    }

    /// Adds `d_entropy · ∂H/∂z_k` to `d_logits`, `[actions]`. Which actions are kept is a constant:
    /// the others get nothing.
    ///
    /// # Panics
    ///
    /// If `d_logits` does not hold one value per action.
    pub fn pull_back(&self, d_entropy: f64, d_logits: &mut [f64]) {
        self.restricted.pull_back_entropy(d_entropy, d_logits);
    }
}

/// Entropy of a softmax over the actions that `restriction` keeps. Of equally probable actions the
/// earlier is kept.
///
/// `logits` is `[actions]`, `-inf` for impossible ones, which are never kept.
///
/// Source: SIREN, [arXiv:2509.25133](https://arxiv.org/abs/2509.25133); `AEnt`,
/// [arXiv:2509.03493](https://arxiv.org/abs/2509.03493).
///
/// # Errors
///
/// [`RestrictedEntropyError`] if the logits make no distribution or the restriction is out of its
/// range.
pub fn restricted_entropy(
    logits: &[f64],
    restriction: Restriction,
) -> Result<RestrictedEntropy, RestrictedEntropyError> {
    restriction.check()?;
    let whole = Categorical::from_logits(logits)?;
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    let descending: Vec<f64> = order.iter().map(|&action| whole.probs()[action]).collect();
    let mut kept = vec![f64::NEG_INFINITY; logits.len()];
    for &action in &order[..restriction.kept(&descending)] {
        kept[action] = logits[action];
    }
    Ok(RestrictedEntropy { restricted: Categorical::from_logits(&kept)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entropy(logits: &[f64], restriction: Restriction) -> RestrictedEntropy {
        restricted_entropy(logits, restriction).unwrap()
    }

    #[test]
    fn a_nucleus_is_the_fewest_actions_that_hold_the_mass() {
        let logits = [0.5f64, 0.3, 0.15, 0.05].map(f64::ln);
        let kept = [0.5, 0.6, 0.81, 1.0].map(|p| entropy(&logits, Restriction::Nucleus(p)).kept());
        assert_eq!(kept, [1, 2, 3, 4]);
        let fair = entropy(&[0.0, 0.0, -50.0], Restriction::Nucleus(0.9)).entropy();
        assert!((fair - 2f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn the_lowest_share_of_the_vocabulary_is_dropped() {
        let logits: Vec<f64> = (0..10).map(f64::from).collect();
        let kept = [0.0, 0.29, 0.3, 0.95]
            .map(|share| entropy(&logits, Restriction::DropLowest(share)).kept());
        assert_eq!(kept, [10, 8, 7, 1]);
    }

    #[test]
    fn the_gradient_is_the_central_difference_and_the_tail_gets_none() {
        let logits = [1.0, -0.5, 0.2, -2.0, 0.7];
        for restriction in [Restriction::Nucleus(0.8), Restriction::DropLowest(0.4)] {
            let at = entropy(&logits, restriction);
            let mut gradient = [0.0; 5];
            at.pull_back(1.0, &mut gradient);
            for action in 0..5 {
                let moved = |step: f64| {
                    let mut logits = logits;
                    logits[action] += step;
                    entropy(&logits, restriction).entropy()
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((gradient[action] - slope).abs() < 1e-8, "{restriction:?} {action}");
            }
            assert_eq!(gradient[3].to_bits(), 0f64.to_bits());
        }
    }

    #[test]
    fn a_restriction_out_of_range_is_refused() {
        let error = restricted_entropy(&[0.0], Restriction::Nucleus(0.0)).unwrap_err();
        assert_eq!(error.to_string(), "`nucleus` is 0, expected a fraction above 0 and at most 1");
        assert!(restricted_entropy(&[], Restriction::DropLowest(0.3)).is_err());
    }
}
