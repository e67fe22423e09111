//! Figures in as many digits as they need.

use super::big::{Big, at, exactly};
use super::direction::{Direction, Figure};
use super::symmetry::is_renaming;
use crate::logit_step::UpdateRule;

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
    let eta = match direction {
        Direction::Step(_) => Big::ONE,
        Direction::Update { rule: UpdateRule::NaturalPolicyGradient, eta, .. } => exactly(eta),
        Direction::Update { rule: UpdateRule::PolicyGradient, .. } => return None,
    };
    let rows = std::iter::zip(logits, direction.column());
    let possible = rows.filter(|(logit, _)| **logit > f64::NEG_INFINITY);
    Some(possible.map(|(logit, value)| exactly(*logit) + &eta * exactly(*value)).collect())
}

fn magnitude(value: &Big) -> Big {
    if *value < Big::ZERO { -value } else { value.clone() }
}

/// One possible action.
struct Action {
    /// Logit less the largest.
    gap: Big,
    prob: Big,
    /// Step less that at the mode.
    step: Big,
    /// Magnitude of the terms that the step was computed from.
    extent: Big,
}

/// A policy over its possible actions, in numbers of `precision` bits.
struct Policy {
    actions: Vec<Action>,
    entropy: Big,
    /// `-log π(mode)` and the mean gap make up the entropy; this is the latter.
    mean_gap: Big,
    precision: usize,
}

impl Policy {
    fn new(logits: &[f64], direction: Direction, precision: usize) -> Self {
        let column = direction.column();
        let mode = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap_or(0);
        let (top, anchor) = (at(logits[mode], precision), at(column[mode], precision));
        let possible = (0..logits.len()).filter(|a| logits[*a] > f64::NEG_INFINITY);
        let possible: Vec<usize> = possible.collect();
        let gaps: Vec<Big> = possible.iter().map(|a| at(logits[*a], precision) - &top).collect();
        let softmax = Softmax::of(&gaps, precision);
        let mut steps: Vec<Big> =
            possible.iter().map(|a| at(column[*a], precision) - &anchor).collect();
        let mut extents: Vec<Big> = steps.iter().map(magnitude).collect();
        if let Direction::Update { rule, eta, .. } = direction {
            if rule == UpdateRule::PolicyGradient {
                let mean_of = |column: &[Big]| -> Big {
                    std::iter::zip(&softmax.probs, column).map(|(p, d)| p * d).sum()
                };
                let (mean, mean_extent) = (mean_of(&steps), mean_of(&extents));
                for (index, prob) in softmax.probs.iter().enumerate() {
                    steps[index] = prob * (&steps[index] - &mean);
                    extents[index] = prob * (&extents[index] + &mean_extent);
                }
            }
            let size = at(eta.abs(), precision);
            for extent in &mut extents {
                *extent *= &size;
            }
            let eta = at(eta, precision);
            for step in &mut steps {
                *step *= &eta;
            }
        }
        let columns = std::iter::zip(gaps, softmax.probs).zip(std::iter::zip(steps, extents));
        let actions = columns
            .map(|((gap, prob), (step, extent))| Action { gap, prob, step, extent })
            .collect();
        Self { actions, entropy: softmax.entropy, mean_gap: softmax.mean_gap, precision }
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
        let moved: Vec<Big> = self.actions.iter().map(|a| &a.gap + &a.step).collect();
        let top = moved.iter().max().expect("some action is possible").clone();
        let gaps: Vec<Big> = moved.iter().map(|logit| logit - &top).collect();
        let after = Softmax::of(&gaps, self.precision).entropy;
        // The logits behind odds are rounded to so many bits, their size is the entropies' error.
        let reach = (self.actions.iter()).map(|a| magnitude(&a.gap) + &a.extent);
        let reach = reach.max().unwrap_or(Big::ZERO) + Big::ONE;
        (&after - &self.entropy, (&after + &self.entropy) * reach)
    }

    /// `-Σ π f` for `f` of `log π + H`, the step less its mean and the extent of that, and the size that goes with it.
    fn expect(&self, f: impl Fn(&Big, &Big, &Big) -> (Big, Big)) -> (Big, Big) {
        let mean: Big = self.actions.iter().map(|a| &a.prob * &a.step).sum();
        let mean_extent: Big = self.actions.iter().map(|a| &a.prob * &a.extent).sum();
        let (mut total, mut size) = (Big::ZERO, Big::ZERO);
        for action in &self.actions {
            let (centred, moved) = (&action.gap + &self.mean_gap, &action.step - &mean);
            let (value, scale) = f(&centred, &moved, &(&action.extent + &mean_extent));
            let reach = magnitude(&action.gap) + &self.mean_gap + Big::ONE;
            total -= &action.prob * value;
            size += &action.prob * scale * reach;
        }
        (total, size)
    }
}

struct Softmax {
    probs: Vec<Big>,
    entropy: Big,
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
}
