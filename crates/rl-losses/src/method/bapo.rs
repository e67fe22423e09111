//! BAPO: bounds of the clip that move until positive tokens weigh as much as negative ones.

use std::iter::zip;

use crate::{
    DualClip, ExactSum, ParameterError, PlanSummary, Real, Scored, Token, TokenBatch, TokenLoss,
    fast::spread::Spread,
    method::policy_method::PolicyMethod,
    parameter::{check, settings},
    surrogate::{clipped_at, limited, limited_log_ratio},
};

/// Most steps that a bound may take: a plan sums over the tokens once for each.
const MOST_STEPS: f64 = 1000.0;

/// Tokens whose terms are held at once.
const RUN: usize = 256;

settings! {
    /// The clipped surrogate, its bounds on the ratio found anew for each mini-batch.
    ///
    /// ```text
    /// positive(c) = Σ_{A>0} min(r, c) A,    negative(c) = Σ_{A<0} max(r, c) |A|
    /// ```
    ///
    /// While `positive(high) < balance · negative(low)`, the lower bound rises by its step as far as it may go, then the upper bound.
    /// More of the rare tokens of positive advantage count so, and fewer of those of negative advantage that have become rare.
    ///
    /// Default: the ranges that the authors give for the paper, equal weights, steps of 0.05 and dual clip at 3.
    ///
    /// Source: Xi et al. 2025, [arXiv:2510.18927](https://arxiv.org/abs/2510.18927); its code is `recipe/bapo` of WooooDyy/BAPO.
    pub struct Bapo {
        /// Least sum of the positive contributions over that of the negative ones; 1 is half of the whole.
        pub balance: f64 = 1.0, check_not_negative;
        /// Lower bound of the ratio that the search begins with, at most 1.
        pub ratio_low_start: f64 = 0.6, check_not_negative;
        /// Lower bound that it ends with at the latest, at most 1.
        pub ratio_low_end: f64 = 0.9;
        /// Step of the lower bound.
        pub ratio_low_step: f64 = 0.05, check_positive;
        /// Upper bound of the ratio that the search begins with, at least 1.
        pub ratio_high_start: f64 = 1.2;
        /// Upper bound that it ends with at the latest.
        pub ratio_high_end: f64 = 3.0;
        /// Step of the upper bound.
        pub ratio_high_step: f64 = 0.05, check_positive;
        /// Ceiling on the ratio for negative advantages (dual clip), above 1, or `"off"`.
        pub clip_ratio_c: DualClip = DualClip { ceiling: 3.0 };
    } also Self::check_ranges
}

impl Bapo {
    /// Checks the ends of both ranges against their starts, and the steps against their lengths.
    fn check_ranges(&self) -> Result<(), ParameterError> {
        let Self { ratio_low_start, ratio_low_end, ratio_high_start, ratio_high_end, .. } = *self;
        check("ratio_low_end", ratio_low_end, "a number from `ratio_low_start` to 1", |x| {
            (ratio_low_start..=1.0).contains(&x)
        })?;
        check("ratio_high_start", ratio_high_start, "a finite number, 1 or above", |x| {
            x.is_finite() && x >= 1.0
        })?;
        check(
            "ratio_high_end",
            ratio_high_end,
            "a finite number, `ratio_high_start` or above",
            |x| x.is_finite() && x >= ratio_high_start,
        )?;
        for (field, step, way) in [
            ("ratio_low_step", self.ratio_low_step, ratio_low_end - ratio_low_start),
            ("ratio_high_step", self.ratio_high_step, ratio_high_end - ratio_high_start),
        ] {
            check(field, step, "a step that goes at most 1000 times into its range", |step| {
                way / step <= MOST_STEPS
            })?;
        }
        Ok(())
    }
}

/// A bound that moves from its start to its end.
#[derive(Clone, Copy)]
struct Bound {
    start: f64,
    end: f64,
    step: f64,
}

impl Bound {
    /// Steps from the start to the end; the last may be shorter.
    fn steps(self) -> f64 {
        // The slack keeps 0.3 in steps of 0.05 at six, whatever the quotient rounds to.
        ((self.end - self.start) / self.step - 1e-9).ceil().max(0.0)
    }

    /// The bound after `steps`, none below 0.
    #[inline(always)]
    fn after<R: Real>(self, steps: R) -> R {
        let steps = steps.greater(R::of(0.0));
        (R::of(self.start) + R::of(self.step) * steps).lesser(R::of(self.end))
    }

    /// The bound at the start and after each step.
    fn places(self) -> impl Iterator<Item = f64> {
        let after = move |steps: f64| self.after(steps);
        std::iter::successors(Some(0.0), |steps| Some(steps + 1.0))
            .take_while(move |steps| *steps <= self.steps())
            .map(after)
    }
}

impl Bapo {
    fn low(&self) -> Bound {
        Bound { start: self.ratio_low_start, end: self.ratio_low_end, step: self.ratio_low_step }
    }

    fn high(&self) -> Bound {
        Bound { start: self.ratio_high_start, end: self.ratio_high_end, step: self.ratio_high_step }
    }

    /// Steps that both bounds take together, the lower one first, until the sums of a mini-batch are in balance.
    fn steps(&self, sums: &[ExactSum]) -> usize {
        let lows = self.low().places().count();
        let (negative, positive) = sums.split_at(lows);
        let last = lows - 1 + positive.len() - 1;
        let is_balanced = |steps: &usize| {
            let low = (*steps).min(lows - 1);
            positive[steps - low].total() >= self.balance * negative[low].total()
        };
        (0..last).find(is_balanced).unwrap_or(last)
    }
}

impl TokenLoss for Bapo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let steps = token.constant;
        let low = self.low().after(steps);
        let high = self.high().after(steps - R::of(self.low().steps()));
        let ceiling = R::of(self.clip_ratio_c.ceiling);
        clipped_at(token.ratio, token.advantage, [low, high, ceiling]).flat_if(token.held)
    }

    limited_log_ratio!();
}

impl<R: Real> PolicyMethod<R> for Bapo {
    /// Contributions of the tokens at each place of the lower bound, negative advantages, then of the upper one, positive ones.
    fn sums(&self, batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        let (low, high): (Vec<f64>, Vec<f64>) =
            (self.low().places().collect(), self.high().places().collect());
        let mut sums = vec![ExactSum::default(); low.len() + high.len()];
        let mut terms = [0.0; RUN];
        let policies = zip(batch.log_prob().chunks(RUN), batch.old_log_prob().chunks(RUN));
        for ((new, old), advantages) in zip(policies, batch.advantage().chunks(RUN)) {
            let ratio = |(new, old): (&R, &R)| Real::exp(limited(new.to_f64() - old.to_f64()));
            let ratios: Vec<f64> = zip(new, old).map(ratio).collect();
            let mut add = |sum: &mut ExactSum, term: &dyn Fn(f64, f64) -> f64| {
                for (into, (ratio, advantage)) in zip(&mut terms, zip(&ratios, advantages)) {
                    *into = term(*ratio, advantage.to_f64());
                }
                sum.merge(&ExactSum::of(&terms[..ratios.len()]));
            };
            let (negative, positive) = sums.split_at_mut(low.len());
            for (sum, &bound) in zip(negative, &low) {
                add(sum, &|ratio, advantage| ratio.max(bound) * (-advantage).max(0.0));
            }
            for (sum, &bound) in zip(positive, &high) {
                add(sum, &|ratio, advantage| ratio.min(bound) * advantage.max(0.0));
            }
        }
        sums
    }

    fn constants(&self, _: &TokenBatch<'_, R>, summary: &PlanSummary) -> Spread {
        Spread::Uniform(self.steps(&summary.sums) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenColumns;
    use crate::parameter::Settings;

    /// Bounds for two tokens: one of positive advantage and ratio 4, one of negative advantage and ratio 0.1.
    fn bounds(loss: Bapo, positive: f64, negative: f64) -> [f64; 2] {
        let columns = TokenColumns {
            log_prob: &[4f64.ln() - 5.0, 0.1f64.ln() - 1.0],
            old_log_prob: &[-5.0, -1.0],
            advantage: &[positive, -negative],
        };
        let batch = TokenBatch::new(columns, &[1, 1]).unwrap();
        let steps = loss.steps(&loss.sums(&batch)) as f64;
        [loss.low().after(steps), loss.high().after(steps - loss.low().steps())]
    }

    /// At the start the positive token counts 1.2, the negative one 0.6 of its advantage.
    #[test]
    fn the_lower_bound_rises_first_and_then_the_upper_one_until_both_sides_weigh_alike() {
        let close = |computed: [f64; 2], expected: [f64; 2]| {
            let far = zip(computed, expected).any(|(a, b)| (a - b).abs() > 1e-12);
            assert!(!far, "{computed:?} {expected:?}");
        };
        let loss = Bapo::default();
        close(bounds(loss, 1.0, 1.9), [0.6, 1.2]);
        // Of equal weight, both sides are in balance.
        close(bounds(loss, 1.0, 2.0), [0.6, 1.2]);
        // A heavier negative token only weighs more as its bound rises: all steps of the lower bound are taken in vain.
        close(bounds(loss, 1.0, 2.1), [0.9, 1.9]);
        close(bounds(loss, 1.0, 10.0), [0.9, 3.0]);
        close(bounds(Bapo { balance: 0.5, ..loss }, 1.0, 2.1), [0.6, 1.2]);
        // The last step is cut off at the end.
        let uneven = Bapo { ratio_low_step: 0.2, ratio_high_step: 0.7, ..loss };
        close(bounds(uneven, 1.0, 2.1), [0.9, 1.9]);
        close(bounds(uneven, 1.0, 10.0), [0.9, 3.0]);
        let fixed = Bapo { ratio_low_end: 0.6, ratio_high_end: 1.2, ..loss };
        close(bounds(fixed, 1.0, 10.0), [0.6, 1.2]);
    }

    #[test]
    fn ranges_out_of_order_and_endless_steps_are_refused() {
        let refused = |loss: Bapo| Settings::check(&loss).unwrap_err().to_string();
        let loss = Bapo::default();
        assert!(refused(Bapo { ratio_low_end: 0.5, ..loss }).starts_with("`ratio_low_end` is 0.5"));
        assert!(refused(Bapo { ratio_low_end: 1.1, ..loss }).starts_with("`ratio_low_end` is 1.1"));
        assert!(refused(Bapo { ratio_high_start: 0.9, ..loss }).contains("1 or above"));
        assert!(refused(Bapo { ratio_high_end: 1.1, ..loss }).starts_with("`ratio_high_end`"));
        assert!(refused(Bapo { ratio_low_step: 0.0, ..loss }).contains("above 0"));
        assert!(refused(Bapo { ratio_high_step: 1e-4, ..loss }).contains("at most 1000 times"));
    }
}
