//! KL-Cov: penalise the move of the tokens of highest covariance.

use std::cmp::Ordering;

use entropy_core::token_covariances;
use serde::{Deserialize, Serialize};

use crate::{
    ParameterError, Term, TokenBatch,
    parameter::{check_fraction, check_not_negative},
    plan::share,
};

/// The unclipped surrogate `-r A`, plus `coefficient · |log r|` on the tokens of highest
/// covariance.
///
/// The penalty is the absolute log-ratio to the policy before the update, not a KL divergence: row
/// 8 of `docs/paper-vs-code.md`. It is inert where the ratio is 1, so KL-Cov needs at least two
/// updates per rollout batch.
///
/// Default: the paper's 7B script, `fraction = 2e-3`, `coefficient = 1` (row 9).
///
/// Source: arXiv:2505.22617, Eqs. 13 and 14.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct KlCov {
    pub(crate) fraction: f64,
    pub(crate) coefficient: f64,
}

impl Default for KlCov {
    fn default() -> Self {
        Self { fraction: 2e-3, coefficient: 1.0 }
    }
}

impl KlCov {
    /// Penalises `fraction` of all tokens with `coefficient` (reward per nat).
    ///
    /// # Errors
    ///
    /// [`ParameterError::OutOfRange`] unless `0 < fraction <= 1` and `coefficient` is finite and
    /// not negative.
    pub fn new(fraction: f64, coefficient: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            fraction: check_fraction("fraction", fraction)?,
            coefficient: check_not_negative("coefficient", coefficient)?,
        })
    }

    /// Share of all tokens to penalise, above 0 and at most 1; never a percentage (row 2).
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// Coefficient of the penalty, reward per nat.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    /// Marks the tokens of highest covariance: a share of all tokens, but at least one. Ties go to
    /// the earlier token.
    ///
    /// There is no test of the sign: with few tokens the highest covariance may be negative, and is
    /// marked all the same. Scope: `batch` is the mini-batch, as the covariance is centred over it
    /// (row 1 of `docs/paper-vs-code.md`).
    pub fn select(&self, batch: &TokenBatch<'_>) -> Vec<bool> {
        let covariances = token_covariances(batch.advantage(), batch.log_prob());
        let mut order: Vec<usize> = (0..batch.len()).collect();
        let count = share(self.fraction, batch.len());
        if count < order.len() {
            order.select_nth_unstable_by(count, |&a, &b| {
                descending(covariances[a], covariances[b]).then(a.cmp(&b))
            });
        }
        let mut penalised = vec![false; batch.len()];
        for &token in &order[..count] {
            penalised[token] = true;
        }
        penalised
    }

    /// One token's loss; the penalty has subgradient 0 at `log r = 0`.
    pub fn term(&self, log_ratio: f64, advantage: f64, selected: bool) -> Term {
        let term = Term::unclipped(log_ratio.exp(), advantage);
        if !selected || log_ratio == 0.0 {
            return term;
        }
        Term {
            value: term.value + self.coefficient * log_ratio.abs(),
            d_log_prob: term.d_log_prob + self.coefficient * log_ratio.signum(),
        }
    }
}

// `+ 0.0` makes both zeros one number, so that a tie between them goes by position too.
fn descending(a: f64, b: f64) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

/// [`KlCov`] as written in a configuration.
#[derive(Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    fraction: f64,
    coefficient: f64,
}

impl Default for Fields {
    fn default() -> Self {
        KlCov::default().into()
    }
}

impl From<KlCov> for Fields {
    fn from(loss: KlCov) -> Self {
        Self { fraction: loss.fraction, coefficient: loss.coefficient }
    }
}

impl TryFrom<Fields> for KlCov {
    type Error = ParameterError;

    fn try_from(fields: Fields) -> Result<Self, ParameterError> {
        Self::new(fields.fraction, fields.coefficient)
    }
}
