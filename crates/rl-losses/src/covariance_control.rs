//! The composition behind Clip-Cov and KL-Cov: select tokens by covariance, then treat them.

use serde::{Deserialize, Serialize};

use crate::{
    Centering, ClipRange, CovarianceBand, DualClip, ParameterError, Penalty, PpoClip, Scope,
    Semantics, Treatment,
    parameter::check_fraction,
    settings::{Settings, checked_when_read},
    surrogate::Surrogate,
};

/// Which tokens of high covariance are taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Select {
    /// Those of highest covariance (KL-Cov).
    Top,
    /// A uniform draw from those whose covariance lies in a band (Clip-Cov).
    Band(CovarianceBand),
}

/// The surrogate that tokens have otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Base {
    /// `-r A`.
    Unclipped,
    /// Clipped, with clip-higher and dual clip as set.
    PpoClip(PpoClip),
}

impl Base {
    pub(crate) fn surrogate(self) -> Surrogate {
        match self {
            Self::Unclipped => Surrogate::PLAIN,
            Self::PpoClip(loss) => loss.surrogate(),
        }
    }
}

/// Any selector with any treatment over any base: Clip-Cov over clip-higher, KL-Cov with a k3
/// penalty or anchored at the reference, per-state covariances, a smaller weight in place of a drop.
///
/// ```toml
/// [policy_loss.covariance-control]
/// fraction = 2e-3
/// select = "top"
/// centering = "state"
/// treatment.penalise = { divergence = "k3", anchor = "reference" }
/// base.ppo-clip = { clip_ratio_high = 0.28 }
/// ```
///
/// Default: the share and penalty of KL-Cov over clip-higher, the combination users ask for first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct CovarianceControl {
    /// Share of all tokens to treat, above 0 and at most 1.
    pub fraction: f64,
    /// Which tokens.
    pub select: Select,
    /// What is done to them.
    pub treatment: Treatment,
    /// The surrogate of every token.
    pub base: Base,
    /// What the covariance is centred on.
    pub centering: Centering,
    /// The tokens it is centred and shared over.
    pub scope: Scope,
    /// Whose arithmetic.
    pub semantics: Semantics,
}

impl Default for CovarianceControl {
    fn default() -> Self {
        let clip = ClipRange { low: 0.2, high: 0.28 };
        Self {
            fraction: 2e-3,
            select: Select::Top,
            treatment: Treatment::Penalise(Penalty::default()),
            base: Base::PpoClip(PpoClip::new(clip, DualClip::OFF)),
            centering: Centering::Batch,
            scope: Scope::MiniBatch,
            semantics: Semantics::Exact,
        }
    }
}

impl Settings for CovarianceControl {
    fn check(&self) -> Result<(), ParameterError> {
        check_fraction("fraction", self.fraction).map(drop)
    }
}

checked_when_read!(CovarianceControl);
