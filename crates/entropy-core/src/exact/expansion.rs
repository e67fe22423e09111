//! Entropy along a step: each order and its remainder, as sums that carry the size of their terms.

use super::direction::{Along, Direction, Figure};
use super::real::Real;

/// Below this `e^x` is 0 as an `f64`.
const HIDDEN: f64 = -746.0;

/// A sum and the size of its terms, added up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rated<R> {
    pub(super) value: R,
    pub(super) size: f64,
}

impl<R: Real> Rated<R> {
    /// The value as an `f64`, if it has its digits.
    pub(super) fn settled(self) -> Option<f64> {
        let value = self.value.nearest();
        let share = value.abs() >= R::SMALLEST_SHARE * self.size && value.abs() >= R::SMALLEST;
        (self.size == 0.0 || (share && value.is_finite())).then_some(value)
    }

    /// The sum with another that was computed with less precision, if it has its digits.
    pub(super) fn with<S: Real>(self, other: Rated<S>) -> Option<f64> {
        let value = (self.value + R::of(other.value.nearest())).nearest();
        let lost = R::SMALLEST_SHARE * self.size + S::SMALLEST_SHARE * other.size;
        (value.is_finite() && value.abs() >= lost.max(R::SMALLEST)).then_some(value)
    }

    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, size: self.size + other.size }
    }
}

/// A policy and the step it takes.
///
/// The size of a term measures its error. It counts eight roundings of the term itself, and the errors of its inputs. A
/// probability and `log π + H` have the rounding of the logit behind them; the step less its mean has that of its parts,
/// two roundings each or four.
pub(super) struct Expansion<'a, R> {
    probs: &'a [R],
    /// `log π + H`.
    centred: &'a [R],
    mode: usize,
    along: Along<R>,
}

impl<'a, R: Real> Expansion<'a, R> {
    pub(super) fn new(probs: &'a [R], centred: &'a [R], mode: usize, direction: Direction) -> Self {
        Self { probs, centred, mode, along: direction.along(probs, centred, mode) }
    }

    pub(super) fn rated(&self, figure: Figure) -> Rated<R> {
        match figure {
            Figure::FirstOrder => self.first_order(),
            Figure::Curvature => self.curvature(),
            Figure::Change => self.first_order().plus(self.remainder()),
            Figure::Remainder => self.remainder(),
        }
    }

    /// Range of the step.
    pub(super) fn range(&self) -> f64 {
        let values = || self.possible().map(|action| self.along.values[action].nearest());
        values().fold(0.0, f64::max) - values().fold(0.0, f64::min)
    }

    /// `-Σ π c (δ - E δ)`.
    ///
    /// The error of the means is the same for every action, and its factor is a sum that is 0.
    pub(super) fn first_order(&self) -> Rated<R> {
        let (mean, _) = self.mean();
        self.expect(|a| {
            let moved = self.along.values[a] - mean;
            let (magnitude, rounded) = (moved.nearest().abs(), self.along.extents[a]);
            (
                self.centred[a] * moved,
                self.distance(a, 0.0) * magnitude + self.height(a) * 0.25 * rounded,
            )
        })
    }

    /// `-Σ π (1 + c) (δ - E δ)²`.
    fn curvature(&self) -> Rated<R> {
        let (mean, mean_extent) = self.mean();
        self.expect(|a| {
            let moved = self.along.values[a] - mean;
            let (magnitude, rounded) = (moved.nearest().abs(), self.along.extents[a] + mean_extent);
            let term = (R::of(1.0) + self.centred[a]) * (moved * moved);
            let of_height = (1.0 + self.distance(a, 0.25)) * magnitude * magnitude;
            (term, of_height + (1.0 + self.height(a)) * magnitude * 0.5 * rounded)
        })
    }

    /// `-Σ π (c ψ(x) + φ(x))` with `x = log π_new/π`, `ψ = e^x - 1 - x` and `φ = x e^x - (e^x - 1)`.
    pub(super) fn remainder(&self) -> Rated<R> {
        let mut growth_size = 0.0;
        let growth = R::sum(self.possible().map(|a| {
            let growth = self.along.values[a].exp_m1();
            let grown = growth.nearest();
            growth_size += self.weight(a) * (grown.abs() + (1.0 + grown) * self.along.extents[a]);
            self.probs[a] * growth
        }));
        let log_mean = growth.ln_1p();
        let mean_extent = growth_size / (1.0 + growth.nearest());
        self.expect(|a| {
            let x = self.along.values[a] - log_mean;
            let tail = x.exp_tail();
            let term = self.centred[a] * tail + relative_entropy_term(x, tail);
            let (x, tail) = (x.nearest(), tail.nearest());
            let (growth, rounded) = (x + tail, self.along.extents[a] + mean_extent);
            let of_height = self.distance(a, 0.25) * tail + (x * growth).abs() + tail;
            let slope = self.height(a) * growth.abs() + x.abs() * (1.0 + growth);
            (term, of_height + slope * 0.5 * rounded)
        })
    }

    /// Returns true if the step gives probability to an action whose probability is 0 as an `f64`.
    pub(super) fn wakes(&self) -> bool {
        let hidden = |a: &usize| {
            let gap = (self.centred[*a] - self.centred[self.mode]).nearest();
            gap > f64::NEG_INFINITY && self.probs[*a].nearest() == 0.0
        };
        (0..self.probs.len()).filter(hidden).any(|a| {
            let gap = (self.centred[a] - self.centred[self.mode]).nearest();
            gap + self.along.values[a].nearest() > HIDDEN
        })
    }

    /// `-Σ π f` with the size of each `f` beside it.
    fn expect(&self, f: impl Fn(usize) -> (R, f64)) -> Rated<R> {
        let mut size = 0.0;
        let value = R::sum(self.possible().map(|a| {
            let (term, term_size) = f(a);
            size += self.weight(a) * term_size;
            self.probs[a] * term
        }));
        Rated { value: -value, size }
    }

    /// `E δ - δ(mode)` and its size.
    fn mean(&self) -> (R, f64) {
        let mean = R::sum(self.possible().map(|a| self.probs[a] * self.along.values[a]));
        (mean, self.possible().map(|a| self.weight(a) * self.along.extents[a]).sum())
    }

    fn possible(&self) -> impl Iterator<Item = usize> {
        (0..self.probs.len()).filter(|&action| self.probs[action].nearest() > 0.0)
    }

    /// `π`, increased by the rounding of its logit's gap.
    fn weight(&self, action: usize) -> f64 {
        let gap = (self.centred[action] - self.centred[self.mode]).nearest().abs();
        self.probs[action].nearest() * R::GAP_ROUNDING.mul_add(gap, 1.0)
    }

    /// Size of `log π + H`.
    fn height(&self, action: usize) -> f64 {
        self.centred[action].nearest().abs()
    }

    /// [`height`](Self::height) plus the rounding of the action's gap, and the share `of_mean` of the mean gap.
    fn distance(&self, action: usize, of_mean: f64) -> f64 {
        let mean_gap = self.centred[self.mode];
        let gap = (self.centred[action] - mean_gap).nearest().abs();
        self.height(action) + R::GAP_ROUNDING.mul_add(gap, of_mean * mean_gap.nearest())
    }
}

/// `φ(x) = e^x (x - 1) + 1 ≥ 0` from `ψ(x) = e^x - 1 - x`; its mean under the policy, at `x = log(π_new / π)`, is
/// `KL(π_new ‖ π)`.
fn relative_entropy_term<R: Real>(x: R, tail: R) -> R {
    if x.nearest() < -1.0 {
        // Neither of the two is small here.
        return (tail + x + R::of(1.0)) * (x - R::of(1.0)) + R::of(1.0);
    }
    x * (x + tail) - tail
}
