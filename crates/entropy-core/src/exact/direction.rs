//! Direction of a step of the logits, given or the update from an advantage, and the questions about it.

use super::real::Real;
use crate::categorical::Categorical;
use crate::logit_step::UpdateRule;

/// A figure of a step, in nats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// `-Cov(log π, δ)`.
    FirstOrder,
    /// `-E[(1 + log π + H)(δ - E δ)²]`.
    Curvature,
    /// `ΔH`.
    Change,
    /// `ΔH + Cov(log π, δ)`.
    Remainder,
}

/// The step of the logits that an update takes for an advantage, `[actions]`.
///
/// It is never rounded to `f64`: its rounding errors would remain where other terms cancel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction<'a> {
    /// The advantage, in reward, or a given step, in nats; `[actions]`.
    pub(crate) column: &'a [f64],
    pub(crate) rule: UpdateRule,
    pub(crate) eta: f64,
}

/// The step less its value at the mode.
pub(crate) struct Along<R> {
    /// The differences, `[actions]`; 0 where the action is impossible.
    pub(super) values: Vec<R>,
    /// Magnitude of the terms that each was computed from, `[actions]`.
    pub(super) extents: Vec<f64>,
}

impl<'a> Direction<'a> {
    /// A given step, which is that of the natural gradient for itself.
    pub(crate) fn step(column: &'a [f64]) -> Self {
        Self { column, rule: UpdateRule::NaturalPolicyGradient, eta: 1.0 }
    }

    pub(super) fn check_finite(self, policy: &Categorical) {
        for (action, value) in self.column.iter().enumerate() {
            assert!(
                value.is_finite() || !policy.is_possible(action),
                "the step of action {action} comes from {value}: expected a finite number"
            );
        }
    }

    /// The step for a policy of these probabilities and centred log-probabilities.
    pub(super) fn along<R: Real>(self, probs: &[R], centred: &[R], mode: usize) -> Along<R> {
        let Self { column, rule, eta } = self;
        let anchor = column[mode];
        let possible = |action: usize| centred[action].nearest() > f64::NEG_INFINITY;
        let difference = |action: usize| {
            if possible(action) { R::difference(column[action], anchor) } else { R::of(0.0) }
        };
        let mut values: Vec<R> = (0..probs.len()).map(difference).collect();
        let mut extents: Vec<f64> = values.iter().map(|value| value.nearest().abs()).collect();
        if rule == UpdateRule::PolicyGradient {
            let prob = |action: usize| probs[action].nearest();
            let mean = R::sum((0..probs.len()).map(|action| probs[action] * values[action]));
            let mean_extent = 2.0 * (0..probs.len()).map(|a| prob(a) * extents[a]).sum::<f64>();
            for action in (0..probs.len()).filter(|&action| possible(action)) {
                // π(a) (A(a) - E A) less the same at the mode, where the difference is -E.
                let product = probs[action] * (values[action] - mean);
                let at_mode = prob(mode) * mean_extent;
                values[action] =
                    if action == mode { R::of(0.0) } else { product + probs[mode] * mean };
                extents[action] = prob(action) * (extents[action] + mean_extent) + at_mode;
            }
        }
        for (value, extent) in std::iter::zip(&mut values, &mut extents) {
            *value = R::of(eta) * *value;
            *extent *= eta.abs();
        }
        Along { values, extents }
    }
}
