//! The composition behind Clip-Cov and KL-Cov: select tokens by covariance, then treat them.

use serde::{Deserialize, Serialize};

use crate::{
    Centering, ClipRange, Column, DualClip, ParameterError, Penalty, PpoClip, Real, Scope,
    Semantics, Treatment,
    method::{kl_cov::Plain, policy_method::PolicyMethod, treatment::Treated},
    parameter::{Settings, check_below, check_finite, settings},
    selection::{Order, Selection},
    surrogate::Surrogate,
    term::{Visited, Visitor},
};

/// Rule that selects tokens of high covariance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Select {
    /// Those of highest covariance (KL-Cov).
    Top,
    /// A uniform draw from those whose covariance lies in a band (Clip-Cov).
    Band(CovarianceBand),
}

settings! {
    /// Open interval of covariances, in nat·reward, that tokens are drawn from.
    ///
    /// Open, as in both codes; the paper writes it closed: row 4 of `docs/paper-vs-code.md`.
    pub struct CovarianceBand required {
        /// Lower end of the covariance band.
        #[serde(rename = "covariance_low")]
        pub(crate) low: f64;
        /// Upper end of the covariance band.
        #[serde(rename = "covariance_high")]
        pub(crate) high: f64;
    } also |band| Self::new(band.low, band.high).map(drop)
}

impl CovarianceBand {
    /// The interval `low < cov < high`.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] unless both bounds are finite and `low < high`.
    pub fn new(low: f64, high: f64) -> Result<Self, ParameterError> {
        check_finite("covariance_low", low)?;
        check_finite("covariance_high", high)?;
        check_below(("covariance_low", low), ("covariance_high", high))?;
        Ok(Self { low, high })
    }
}

/// The surrogate that tokens have otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Base {
    /// `-r A`.
    Unclipped,
    /// Clipped, with clip-higher and dual clip as set.
    PpoClip(PpoClip),
}

impl Base {
    const CLIP_HIGHER: Self =
        Self::PpoClip(PpoClip::new(ClipRange { low: 0.2, high: 0.28 }, DualClip::OFF));

    pub(crate) fn surrogate(self) -> Surrogate {
        match self {
            Self::Unclipped => Surrogate::PLAIN,
            Self::PpoClip(loss) => loss.surrogate(),
        }
    }
}

impl Settings for Base {
    fn check(&self) -> Result<(), ParameterError> {
        match self {
            Self::Unclipped => Ok(()),
            Self::PpoClip(loss) => loss.check(),
        }
    }
}

settings! {
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
    pub struct CovarianceControl {
        /// Share of treated tokens, above 0, at most 1.
        pub fraction: f64 = 2e-3, check_fraction;
        /// Selected tokens: `"top"`, those of highest covariance, or `band = { covariance_low,
        /// covariance_high }`, a draw.
        pub select: Select = Select::Top;
        /// Treatment of the selected tokens: `penalise = { divergence, coefficient, anchor }`,
        /// `"drop"`, `"detach"` or `reweight = { factor }`. `anchor` is `"old"`, `"rollout"` or, with
        /// `algorithm.reference_kl`, `"reference"`.
        pub treatment: Treatment = Treatment::Penalise(Penalty::DEFAULT), check_within;
        /// Loss of other tokens: `"unclipped"` or `ppo-clip = { … }` with its settings.
        pub base: Base = Base::CLIP_HIGHER, check_within;
        /// Means that the covariance is centred by: `"batch"` as published, or `"state"` as in the
        /// theory.
        pub centering: Centering = Centering::Batch;
        /// Tokens that are selected from; a trainer refuses `"micro-batch"`. With it, as in older
        /// codes, the algorithm would depend on memory.
        pub scope: Scope = Scope::MiniBatch;
        /// Code that is imitated: `"exact"` (none), `"paper"`, `"prime"` or `"verl"`.
        pub semantics: Semantics = Semantics::Exact;
    }
}

impl Visited for CovarianceControl {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        let (base, treatment) = (self.base.surrogate(), self.treatment);
        if base == Surrogate::PLAIN {
            // Two thirds of the work, as nothing is compared with bounds that are not there.
            visitor.visit(&Treated { base: Plain, treatment })
        } else {
            visitor.visit(&Treated { base, treatment })
        }
    }
}

impl<R: Real> PolicyMethod<R> for CovarianceControl {
    fn selection(&self) -> Option<Selection> {
        let Self { fraction, centering, scope, semantics, .. } = *self;
        let by = match self.select {
            Select::Top => Order::Covariance(centering),
            Select::Band(band) => Order::Draw {
                centering,
                low: band.low,
                high: band.high,
                base: self.base.surrogate(),
            },
        };
        Some(Selection { by, fraction, scope, semantics })
    }

    fn column(&self) -> Option<Column> {
        self.treatment.column()
    }
}
