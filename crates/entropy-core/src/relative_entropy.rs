//! Divergence of one policy from another.

use crate::categorical::Categorical;
use crate::entropy_change::relative_entropy_term;

/// Ranges of `log π - log π_ref` up to this one are summed without cancellation.
const LARGEST_SMOOTH_RANGE: f64 = 2.0;

/// Divergences between the policies before and after a step, in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepDivergence {
    /// `KL(π_new ‖ π)`.
    pub new_from_old: f64,
    /// `KL(π ‖ π_new)`.
    pub old_from_new: f64,
}

impl Categorical {
    /// Divergence `KL(π ‖ π_ref) = Σ π (log π - log π_ref)`, in nats; never negative, infinite where
    /// the reference lacks an action of this policy.
    ///
    /// Summed from terms that are never negative. Derivation: `docs/theory.md#relative-entropy`.
    ///
    /// # Panics
    ///
    /// If the two have different numbers of actions.
    pub fn relative_entropy(&self, reference: &Self) -> f64 {
        self.check_length(reference.log_probs());
        if (0..self.actions()).any(|a| self.is_possible(a) && !reference.is_possible(a)) {
            return f64::INFINITY;
        }
        let same_support = self.support() == reference.support();
        let mode = self.mode();
        let (own, other) = (self.centred_log_probs(), reference.centred_log_probs());
        let step = self.over_support(|a| (own[a] - own[mode]) - (other[a] - other[mode]));
        if same_support && reference.step_range(&step) <= LARGEST_SMOOTH_RANGE {
            return reference.step_divergence(&step).new_from_old;
        }
        // Σ (π x - π + π_ref), whose terms are never negative; π_ref may reach where π does not.
        let term = |action: usize| {
            let x = self.log_probs()[action] - reference.log_probs()[action];
            let (prob, reference) = (self.probs()[action], reference.probs()[action]);
            if x.abs() > 1.0 {
                prob * (x - 1.0) + reference
            } else {
                reference * relative_entropy_term(x)
            }
        };
        let terms = (0..self.actions()).map(|action| {
            if self.is_possible(action) { term(action) } else { reference.probs()[action] }
        });
        crate::summation::sum(terms)
    }

    /// Divergences between this policy and the one after `step`, in both directions, accurate for
    /// steps of any size.
    ///
    /// Derivation: `docs/theory.md#relative-entropy`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action, or is NaN or infinite at a possible one.
    pub fn step_divergence(&self, step: &[f64]) -> StepDivergence {
        if self.step_range(step) > LARGEST_SMOOTH_RANGE {
            let moved = self.moved(step, 1.0);
            let (x, y) = (self.log_probs(), moved.log_probs());
            // Both directions of Σ (p log(p/q) - p + q), termwise.
            let one_way = |p: &Self, log_ratio: &dyn Fn(usize) -> f64, q: &Self| {
                crate::summation::sum((0..self.actions()).filter(|&a| self.is_possible(a)).map(
                    |a| {
                        let x = log_ratio(a);
                        if x.abs() > 1.0 {
                            p.probs()[a] * (x - 1.0) + q.probs()[a]
                        } else {
                            q.probs()[a] * relative_entropy_term(x)
                        }
                    },
                ))
            };
            return StepDivergence {
                new_from_old: one_way(&moved, &|a| y[a] - x[a], self),
                old_from_new: one_way(self, &|a| x[a] - y[a], &moved),
            };
        }
        let log_ratio = self.log_ratio_after(step);
        StepDivergence {
            new_from_old: self.expect(|action| relative_entropy_term(log_ratio[action])),
            // Σ q φ(-x), with q = π e^x.
            old_from_new: self.expect(|action| {
                log_ratio[action].exp() * relative_entropy_term(-log_ratio[action])
            }),
        }
    }
}
