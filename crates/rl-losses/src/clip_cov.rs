//! Clip-Cov: drop the gradient of a few tokens of high covariance.

use entropy_core::token_covariances;
use rand::{Rng, seq::index};
use serde::{Deserialize, Serialize};

use crate::{
    ClipRange, ParameterError, Term, TokenBatch,
    parameter::{check_finite, check_fraction},
    plan::share,
    surrogate::Branch,
};

/// Open interval of covariances, in nat·reward, that Clip-Cov draws its tokens from.
///
/// Open, as in both codes; the paper writes it closed: row 4 of `docs/paper-vs-code.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CovarianceBand {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl CovarianceBand {
    /// The interval `low < cov < high`.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] unless both bounds are finite and `low < high`.
    pub fn new(low: f64, high: f64) -> Result<Self, ParameterError> {
        let (low_field, high_field) = ("covariance_low", "covariance_high");
        let (low, high) = (check_finite(low_field, low)?, check_finite(high_field, high)?);
        if low < high {
            Ok(Self { low, high })
        } else {
            Err(ParameterError::Order { low_field, low, high_field, high })
        }
    }

    /// Lower bound, excluded.
    pub fn low(self) -> f64 {
        self.low
    }

    /// Upper bound, excluded.
    pub fn high(self) -> f64 {
        self.high
    }

    /// Whether `covariance` lies strictly inside.
    pub fn contains(self, covariance: f64) -> bool {
        self.low < covariance && covariance < self.high
    }
}

/// The clipped surrogate without a few tokens drawn at random from a band of high covariance.
///
/// A dropped token has no value and no gradient, but still counts in the denominator of the mean.
///
/// Default: the paper's scripts, `fraction = 2e-4`, band `(1, 5)`, clip 1 on both sides (ratio in
/// `[0, 2]`).
///
/// Source: arXiv:2505.22617, Eqs. 11 and 12; rows 3 to 6 of `docs/paper-vs-code.md`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct ClipCov {
    pub(crate) fraction: f64,
    pub(crate) band: CovarianceBand,
    pub(crate) clip: ClipRange,
}

impl Default for ClipCov {
    fn default() -> Self {
        Self {
            fraction: 2e-4,
            band: CovarianceBand { low: 1.0, high: 5.0 },
            clip: ClipRange { low: 1.0, high: 1.0 },
        }
    }
}

impl ClipCov {
    /// Drops `fraction` of all tokens, drawn from `band`, from the surrogate clipped to `clip`.
    ///
    /// # Errors
    ///
    /// [`ParameterError::OutOfRange`] unless `0 < fraction <= 1`.
    pub fn new(
        fraction: f64,
        band: CovarianceBand,
        clip: ClipRange,
    ) -> Result<Self, ParameterError> {
        Ok(Self { fraction: check_fraction("fraction", fraction)?, band, clip })
    }

    /// Share of all tokens to drop, above 0 and at most 1.
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// Covariances that tokens are drawn from.
    pub fn band(&self) -> CovarianceBand {
        self.band
    }

    /// Trust region of the surrogate.
    pub fn clip(&self) -> ClipRange {
        self.clip
    }

    /// Tokens that may be dropped, in order: covariance inside the band, and not clipped by the
    /// surrogate already.
    ///
    /// Scope: `batch` is the mini-batch, as the covariance is centred over it (row 1 of
    /// `docs/paper-vs-code.md`).
    pub fn eligible(&self, batch: &TokenBatch<'_>) -> Vec<usize> {
        token_covariances(batch.advantage(), batch.log_prob())
            .into_iter()
            .zip(batch.log_ratios().zip(batch.advantage()))
            .enumerate()
            .filter(|(_, (covariance, (log_ratio, advantage)))| {
                self.band.contains(*covariance) && !self.clip.is_clipped(*log_ratio, **advantage)
            })
            .map(|(token, _)| token)
            .collect()
    }

    /// Draws the tokens to drop: a share of **all** tokens, but at least one, uniformly without
    /// replacement from the eligible ones; all of these if they are fewer.
    pub fn select(&self, batch: &TokenBatch<'_>, rng: &mut (impl Rng + ?Sized)) -> Vec<bool> {
        let eligible = self.eligible(batch);
        let count = share(self.fraction, batch.len()).min(eligible.len());
        let mut dropped = vec![false; batch.len()];
        for pick in index::sample(rng, eligible.len(), count) {
            dropped[eligible[pick]] = true;
        }
        dropped
    }

    /// One token's loss.
    pub fn term(&self, log_ratio: f64, advantage: f64, selected: bool) -> Term {
        self.term_and_branch(log_ratio, advantage, selected).0
    }

    pub(crate) fn term_and_branch(
        &self,
        log_ratio: f64,
        advantage: f64,
        selected: bool,
    ) -> (Term, Branch) {
        if selected {
            (Term::ZERO, Branch::Open)
        } else {
            self.clip.surrogate_at(log_ratio.exp(), advantage)
        }
    }
}

/// [`ClipCov`] as written in a configuration.
#[derive(Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    fraction: f64,
    covariance_low: f64,
    covariance_high: f64,
    clip_ratio_low: f64,
    clip_ratio_high: f64,
}

impl Default for Fields {
    fn default() -> Self {
        ClipCov::default().into()
    }
}

impl From<ClipCov> for Fields {
    fn from(loss: ClipCov) -> Self {
        Self {
            fraction: loss.fraction,
            covariance_low: loss.band.low,
            covariance_high: loss.band.high,
            clip_ratio_low: loss.clip.low,
            clip_ratio_high: loss.clip.high,
        }
    }
}

impl TryFrom<Fields> for ClipCov {
    type Error = ParameterError;

    fn try_from(fields: Fields) -> Result<Self, ParameterError> {
        let band = CovarianceBand::new(fields.covariance_low, fields.covariance_high)?;
        let clip = ClipRange::new(fields.clip_ratio_low, fields.clip_ratio_high)?;
        Self::new(fields.fraction, band, clip)
    }
}
