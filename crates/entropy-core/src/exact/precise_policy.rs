//! A policy in numbers of twice the precision.

use super::direction::Direction;
use super::double_double::DoubleDouble;
use super::expansion::Expansion;
use super::real::Real;

/// Probabilities and centred log-probabilities, `[actions]`, straight from the logits.
pub(super) struct PrecisePolicy {
    /// Logits less the largest; `-∞` where impossible.
    gaps: Vec<DoubleDouble>,
    probs: Vec<DoubleDouble>,
    centred: Vec<DoubleDouble>,
    mode: usize,
    /// Shannon entropy, in nats.
    pub(super) entropy: f64,
}

impl PrecisePolicy {
    pub(super) fn of(logits: &[f64]) -> Self {
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let gap = |logit: &f64| {
            // -∞ has no low part.
            let is_possible = *logit > f64::NEG_INFINITY;
            if is_possible { DoubleDouble::difference(*logit, largest) } else { IMPOSSIBLE }
        };
        Self::of_gaps(logits.iter().map(gap).collect())
    }

    /// Creates the policy from `gaps`, the logits less the largest.
    fn of_gaps(gaps: Vec<DoubleDouble>) -> Self {
        let one = DoubleDouble::of(1.0);
        let mode = gaps.iter().position(|gap| gap.nearest() == 0.0).unwrap_or(0);
        let odds: Vec<DoubleDouble> = gaps.iter().map(|gap| gap.exp()).collect();
        let (mut others, mut weighted_gaps) = (DoubleDouble::ZERO, DoubleDouble::ZERO);
        for (action, (gap, odds)) in std::iter::zip(&gaps, &odds).enumerate() {
            if action != mode && odds.nearest() > 0.0 {
                others = others + *odds;
                weighted_gaps = weighted_gaps - *gap * *odds;
            }
        }
        let total = one + others;
        let share = one.divided_by(total);
        let mean_gap = weighted_gaps * share;
        let probs = odds.iter().map(|odds| *odds * share).collect();
        let centred = gaps.iter().map(|gap| sum_if_possible(*gap, mean_gap)).collect();
        let entropy = (others.ln_1p() + mean_gap).nearest();
        Self { gaps, probs, centred, mode, entropy }
    }

    pub(super) fn expansion(&self, direction: Direction) -> Expansion<'_, DoubleDouble> {
        Expansion::new(&self.probs, &self.centred, self.mode, direction)
    }

    /// The policy after the step.
    pub(super) fn after(&self, direction: Direction) -> Self {
        let along = direction.along(&self.probs, &self.centred, self.mode).values;
        let rows = std::iter::zip(&self.gaps, along);
        let moved: Vec<DoubleDouble> =
            rows.map(|(gap, step)| sum_if_possible(*gap, step)).collect();
        let largest = moved.iter().copied().fold(IMPOSSIBLE, |largest, gap| {
            let is_larger = gap.nearest() > f64::NEG_INFINITY
                && (largest.nearest() == f64::NEG_INFINITY || (gap - largest).nearest() > 0.0);
            if is_larger { gap } else { largest }
        });
        Self::of_gaps(moved.into_iter().map(|gap| sum_if_possible(gap, -largest)).collect())
    }
}

fn sum_if_possible(gap: DoubleDouble, other: DoubleDouble) -> DoubleDouble {
    if gap.nearest() > f64::NEG_INFINITY { gap + other } else { IMPOSSIBLE }
}

const IMPOSSIBLE: DoubleDouble = DoubleDouble::of(f64::NEG_INFINITY);
