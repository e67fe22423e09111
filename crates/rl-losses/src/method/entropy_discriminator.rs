//! Entropy-discriminator clip: tokens of negative advantage that would lower the entropy most are dropped.

use std::iter::zip;

use crate::{
    Column, ExactSum, PlanSummary, Real, TokenBatch,
    fast::exact_sum::sums_of,
    method::policy_method::PolicyMethod,
    parameter::settings,
    surrogate::{Dropping, Surrogate},
    term::{Visited, Visitor},
};

/// Magnitude beyond any discriminator, in nats: that of a policy is at most the logarithm of its actions.
const LARGEST: f64 = 1e6;

/// Share of the mean square below which a variance is rounding.
const ROUNDING: f64 = 1e-12;

settings! {
    /// The clipped surrogate without the tokens of negative advantage whose discriminator lies far below the mean:
    ///
    /// ```text
    /// S = π (ln π + H),    dropped where A < 0 and S < mean S - deviations · std S
    /// ```
    ///
    /// `-S` is the slope of the entropy in the logit of the token drawn. It is above 0 for an unlikely token, whose logit an advantage
    /// below 0 lowers: these tokens lower the entropy most. Needs the column `entropy`. Mean and standard deviation, with divisor `N`, are
    /// those of the mini-batch; a dropped token stays in the denominator (row 60 of `docs/paper-vs-code.md`).
    ///
    /// Default: 2.5 standard deviations as published, over the symmetric clip.
    ///
    /// Source: Wang et al. 2026, `Clip_B`, [arXiv:2602.03392](https://arxiv.org/abs/2602.03392); its code is Trinity-RFT's `clipb`.
    pub struct EntropyDiscriminator {
        /// Standard deviations below the mean beyond which a token is dropped, at least 0.
        pub deviations: f64 = 2.5, check_not_negative;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.2, check_not_negative;
    }
}

impl EntropyDiscriminator {
    /// Discriminator below which a token of negative advantage is dropped; none if all are the same up to rounding.
    fn bound(&self, summary: &PlanSummary) -> Option<f64> {
        let [sum, square] = &summary.sums[..] else { return None };
        let count = summary.tokens as f64;
        let (mean, square) = (sum.total() / count, square.total() / count);
        let variance = square - mean * mean;
        (variance > ROUNDING * square).then(|| mean - self.deviations * variance.sqrt())
    }
}

impl Visited for EntropyDiscriminator {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(&Dropping(Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high)))
    }
}

impl<R: Real> PolicyMethod<R> for EntropyDiscriminator {
    /// Positions of the tokens of negative advantage below the bound; none without the column.
    fn select(&self, batch: &TokenBatch<'_, R>, summary: &PlanSummary) -> Vec<usize> {
        let Some(bound) = self.bound(summary) else { return Vec::new() };
        let entropy = batch.column(Column::Entropy).unwrap_or_default();
        let tokens = zip(batch.advantage(), zip(batch.log_prob(), entropy)).enumerate();
        let dropped = tokens.filter(|(_, (advantage, (log_prob, entropy)))| {
            **advantage < R::of(0.0) && discriminator(log_prob.to_f64(), entropy.to_f64()) < bound
        });
        dropped.map(|(token, _)| token).collect()
    }

    /// Sums of the discriminators and of their squares.
    fn sums(&self, batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        let entropy = batch.column(Column::Entropy).unwrap_or_default();
        sums_of(batch.log_prob(), entropy, |log_prob, entropy| {
            let discriminator = discriminator(log_prob, entropy);
            [discriminator, discriminator * discriminator]
        })
    }
}

/// `S` of a token, in nats; held where no policy's is, so that its square is finite whatever the columns hold.
#[inline(always)]
fn discriminator(log_prob: f64, entropy: f64) -> f64 {
    (Real::exp(log_prob) * (log_prob + entropy)).held(-LARGEST, LARGEST)
}
