//! Figures in as many digits as they need.

use super::big::{Big, at, exactly};
use super::direction::{Direction, Figure};
use super::symmetry::is_renaming;
use crate::logit_step::UpdateRule;
use std::iter::zip;

/// Bits to begin with, doubled until they are enough.
const FIRST_PRECISION: usize = 256;
/// Bits to end with: a figure that is less than 2⁻⁸⁰⁰⁰ of its terms counts as 0.
const LAST_PRECISION: usize = 8192;
/// Bits a result needs beyond those it lost: 45 for 1e-13, the rest for the roundings of its terms.
const SPARE_BITS: isize = 80;
/// Exponent below which odds change no digit of any number an `f64` can hold.
const LOWEST_EXPONENT: f64 = -4000.0;

/// Computes the figure to a relative error of 1e-13.
pub(super) fn figure(logits: &[f64], direction: Direction, figure: Figure) -> f64 {
    if figure == Figure::Change
        && let Some(moved) = exactly_moved(logits, direction)
        && is_renaming(logits, &moved)
    {
        return 0.0;
    }
    let mut precision = FIRST_PRECISION;
    while precision <= LAST_PRECISION {
        let policy = Policy::new(logits, direction, precision);
        let (value, size) = policy.figure(figure);
        let spare = isize::try_from(precision).expect("a few thousand") - SPARE_BITS;
        if (magnitude(&value) << spare) >= size {
            return value.to_f64().value();
        }
        precision *= 2;
    }
    0.0
}

/// Logits of the possible actions after the step, exact; `None` if the step is no sum of products of the inputs.
fn exactly_moved(logits: &[f64], direction: Direction) -> Option<Vec<Big>> {
    let eta = exactly(direction.eta);
    let rows = zip(logits, direction.column).filter(|(logit, _)| **logit > f64::NEG_INFINITY);
    let moved = rows.map(|(logit, value)| exactly(*logit) + &eta * exactly(*value));
    (direction.rule == UpdateRule::NaturalPolicyGradient).then(|| moved.collect())
}

fn magnitude(value: &Big) -> Big {
    if *value < Big::ZERO { -value } else { value.clone() }
}

/// A policy over its possible actions and the step that it takes, in numbers of `precision` bits; columns are `[possible actions]`.
struct Policy {
    /// Logits less the largest.
    gaps: Vec<Big>,
    softmax: Softmax,
    /// Steps less that at the mode.
    steps: Vec<Big>,
    /// Magnitude of the terms that each step was computed from.
    extents: Vec<Big>,
    precision: usize,
}

impl Policy {
    fn new(logits: &[f64], direction: Direction, precision: usize) -> Self {
        let Direction { column, rule, eta } = direction;
        let mode = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap_or(0);
        let possible = || (0..logits.len()).filter(|a| logits[*a] > f64::NEG_INFINITY);
        let over_mode = |values: &[f64]| -> Vec<Big> {
            let anchor = at(values[mode], precision);
            possible().map(|a| at(values[a], precision) - &anchor).collect()
        };
        let (gaps, mut steps) = (over_mode(logits), over_mode(column));
        let softmax = Softmax::of(&gaps, precision);
        let mut extents: Vec<Big> = steps.iter().map(magnitude).collect();
        if rule == UpdateRule::PolicyGradient {
            let (mean, mean_extent) = (softmax.mean(&steps), softmax.mean(&extents));
            for (index, prob) in softmax.probs.iter().enumerate() {
                steps[index] = prob * (&steps[index] - &mean);
                extents[index] = prob * (&extents[index] + &mean_extent);
            }
        }
        let (eta, size) = (at(eta, precision), at(eta.abs(), precision));
        for step in &mut steps {
            *step *= &eta;
        }
        for extent in &mut extents {
            *extent *= &size;
        }
        Self { gaps, softmax, steps, extents, precision }
    }

    /// Returns the figure and the size of its terms.
    fn figure(&self, figure: Figure) -> (Big, Big) {
        match figure {
            Figure::FirstOrder => self.first_order(),
            Figure::Curvature => self.expect(|centred, moved, extent| {
                (moved * moved * (Big::ONE + centred), extent * extent)
            }),
            Figure::Change => self.change(),
            Figure::Remainder => {
                let ((change, size), (first, first_size)) = (self.change(), self.first_order());
                (change - first, size + first_size)
            }
        }
    }

    fn first_order(&self) -> (Big, Big) {
        self.expect(|centred, moved, extent| (moved * centred, extent.clone()))
    }

    /// `ΔH` as a difference.
    fn change(&self) -> (Big, Big) {
        let moved: Vec<Big> = zip(&self.gaps, &self.steps).map(|(gap, step)| gap + step).collect();
        let top = moved.iter().max().expect("some action is possible").clone();
        let gaps: Vec<Big> = moved.iter().map(|logit| logit - &top).collect();
        let (before, after) = (&self.softmax.entropy, Softmax::of(&gaps, self.precision).entropy);
        // The logits behind odds are rounded to so many bits, their size is the entropies' error.
        let reach = zip(&self.gaps, &self.extents).map(|(gap, extent)| magnitude(gap) + extent);
        let reach = reach.max().unwrap_or(Big::ZERO) + Big::ONE;
        (&after - before, (&after + before) * reach)
    }

    /// `-Σ π f` for `f` of `log π + H`, the step less its mean and the extent of that, and the size that goes with it.
    fn expect(&self, f: impl Fn(&Big, &Big, &Big) -> (Big, Big)) -> (Big, Big) {
        let Softmax { probs, mean_gap, .. } = &self.softmax;
        let (mean, mean_extent) =
            (self.softmax.mean(&self.steps), self.softmax.mean(&self.extents));
        let (mut total, mut size) = (Big::ZERO, Big::ZERO);
        for (index, (prob, gap)) in zip(probs, &self.gaps).enumerate() {
            let (centred, moved) = (gap + mean_gap, &self.steps[index] - &mean);
            let (value, scale) = f(&centred, &moved, &(&self.extents[index] + &mean_extent));
            total -= prob * value;
            size += prob * scale * (magnitude(gap) + mean_gap + Big::ONE);
        }
        (total, size)
    }
}

struct Softmax {
    probs: Vec<Big>,
    entropy: Big,
    /// `-log π(mode)` and the mean gap make up the entropy; this is the latter.
    mean_gap: Big,
}

impl Softmax {
    /// Softmax of `gaps`, the logits less the largest, in numbers of `precision` bits.
    fn of(gaps: &[Big], precision: usize) -> Self {
        let floor = exactly(LOWEST_EXPONENT);
        let odds = |gap: &Big| if *gap < floor { Big::ZERO } else { gap.exp() };
        let odds: Vec<Big> = gaps.iter().map(odds).collect();
        let mode = gaps.iter().position(|gap| *gap == Big::ZERO).unwrap_or(0);
        let others = || (0..gaps.len()).filter(|a| *a != mode);
        let rest = others().fold(at(0.0, precision), |sum, a| sum + &odds[a]);
        let weighted = others().fold(Big::ZERO, |sum, a| sum - &odds[a] * &gaps[a]);
        let total = Big::ONE + &rest;
        let mean_gap = weighted / &total;
        let probs = odds.iter().map(|odds| odds / &total).collect();
        Self { probs, entropy: rest.ln_1p() + &mean_gap, mean_gap }
    }

    fn mean(&self, column: &[Big]) -> Big {
        zip(&self.probs, column).map(|(prob, value)| prob * value).sum()
    }
}
