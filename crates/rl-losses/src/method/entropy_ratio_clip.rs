//! ERC: drop tokens whose entropy changed too much.

use crate::{
    Column, PlanSummary, Real, TokenBatch,
    method::policy_method::PolicyMethod,
    parameter::{check_below, settings},
    surrogate::{Dropping, Surrogate},
    term::{Visited, Visitor},
};

settings! {
    /// The clipped surrogate without the tokens whose entropy, over that before the first update, has left
    /// an open band. Needs the columns `entropy` and `old_entropy`.
    ///
    /// Selected are the tokens that are dropped. Where both entropies are 0 nothing has changed: 1e-8 is
    /// added to both, as in the authors' code.
    ///
    /// Default: the band of the released 7B script, 0.95 to 1.05, over DAPO's clip.
    ///
    /// Source: Su et al. 2025, [Eq. 8](https://arxiv.org/abs/2512.05591); row 42 of
    /// `docs/paper-vs-code.md`.
    pub struct EntropyRatioClip {
        /// Smallest ratio of a token's entropies, now to before, that stays.
        pub entropy_ratio_low: f64 = 0.95, check_not_negative;
        /// Largest ratio of a token's entropies that stays.
        pub entropy_ratio_high: f64 = 1.05, check_not_negative;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.28, check_not_negative;
    } also |settings| {
        let low = ("entropy_ratio_low", settings.entropy_ratio_low);
        check_below(low, ("entropy_ratio_high", settings.entropy_ratio_high))
    }
}

/// Added to both entropies before they are divided, in nats.
const SMALLEST_ENTROPY: f64 = 1e-8;

impl Visited for EntropyRatioClip {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(&Dropping(Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high)))
    }
}

impl<R: Real> PolicyMethod<R> for EntropyRatioClip {
    /// Positions of the tokens outside the band; none without the columns.
    fn select(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Vec<usize> {
        let new = batch.column(Column::Entropy).unwrap_or_default();
        let old = batch.column(Column::OldEntropy).unwrap_or_default();
        let outside = |(_, (new, old)): &(usize, (&R, &R))| {
            let ratio = (new.to_f64() + SMALLEST_ENTROPY) / (old.to_f64() + SMALLEST_ENTROPY);
            !(self.entropy_ratio_low < ratio && ratio < self.entropy_ratio_high)
        };
        let pairs = std::iter::zip(new, old).enumerate();
        pairs.filter(outside).map(|(token, _)| token).collect()
    }
}
