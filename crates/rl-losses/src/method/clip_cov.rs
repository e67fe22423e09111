//! Clip-Cov: drop the gradient of a few tokens of high covariance.

use crate::{
    fast::real::Real,
    method::{covariance_control::CovarianceBand, policy_method::PolicyMethod},
    parameter::{ParameterError, check_fraction, settings},
    selection::{Order, Selection},
    semantics::{Centering, Scope, Semantics},
    surrogate::{ClipRange, Dropping, Surrogate},
    term::{Visited, Visitor},
};

settings! {
    /// The clipped surrogate without a few tokens drawn at random from a band of high covariance.
    ///
    /// A dropped token has no value and no gradient, but still counts in the denominator of the mean, as
    /// otherwise dropping tokens would make the others weigh more.
    ///
    /// Default: the paper's scripts, `fraction = 2e-4`, band `(1, 5)`, clip 1 on both sides (ratio in
    /// `[0, 2]`).
    ///
    /// Source: arXiv:2505.22617, Eqs. 11 and 12; rows 3 to 6 of `docs/paper-vs-code.md`.
    pub struct ClipCov {
        /// Share of the tokens whose gradient is dropped, above 0, at most 1.
        pub fraction: f64 = 2e-4, check_fraction;
        /// Lower end of the covariance band that tokens are drawn from.
        pub covariance_low: f64 = 1.0;
        /// Upper end of that band.
        pub covariance_high: f64 = 5.0;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 1.0, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 1.0, check_not_negative;
        /// Means that the covariance is centred by: `"batch"` as published, or `"state"` as in the
        /// theory.
        pub centering: Centering = Centering::Batch;
        /// Tokens that are selected from; a trainer refuses `"micro-batch"`. With it, as in older
        /// codes, the algorithm would depend on memory.
        pub scope: Scope = Scope::MiniBatch;
        /// Code that is imitated: `"exact"` (none), `"paper"`, `"prime"` or `"verl"`.
        pub semantics: Semantics = Semantics::Exact;
    } also |settings| CovarianceBand::new(settings.covariance_low, settings.covariance_high).map(drop)
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
        Ok(Self {
            fraction: check_fraction("fraction", fraction)?,
            covariance_low: band.low,
            covariance_high: band.high,
            clip_ratio_low: clip.low,
            clip_ratio_high: clip.high,
            ..Self::DEFAULT
        })
    }

    /// Returns these settings with other choices where the published versions differ.
    #[must_use]
    pub fn with(self, centering: Centering, scope: Scope, semantics: Semantics) -> Self {
        Self { centering, scope, semantics, ..self }
    }

    /// The surrogate of every token. Neither code limits its log-ratio; the paper has no clip besides (row 6).
    fn surrogate(&self) -> Surrogate {
        match self.semantics {
            Semantics::Paper => Surrogate::PLAIN,
            Semantics::Exact | Semantics::Prime | Semantics::Verl => {
                Surrogate::of(ClipRange { low: self.clip_ratio_low, high: self.clip_ratio_high })
            }
        }
    }
}

impl Visited for ClipCov {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(&Dropping(self.surrogate()))
    }
}

impl<R: Real> PolicyMethod<R> for ClipCov {
    /// A draw from the band of tokens that have a gradient to lose.
    fn selection(&self) -> Option<Selection> {
        let Self { fraction, centering, scope, semantics, .. } = *self;
        let (low, high) = (self.covariance_low, self.covariance_high);
        let by = Order::Draw { centering, low, high, base: self.surrogate() };
        Some(Selection { by, fraction, scope, semantics })
    }
}
