//! How the entropy of a policy answers a step of its logits: Lemma 1, its second order, the exact
//! change without cancellation, and bounds on what Lemma 1 leaves out.

use crate::categorical::Categorical;
use crate::quadrature::integrate_unit_interval;

/// Beyond this range of the step the plain difference of two entropies is the more accurate one.
const LARGEST_ACCURATE_RANGE: f64 = 2.0;

impl Categorical {
    /// First-order change of entropy when the logits move by `step`, in nats (Lemma 1).
    ///
    /// ```text
    /// H(z + δ) - H(z) = -Cov_{a~π}(log π(a), δ(a)) + O(|δ|²)
    /// ```
    ///
    /// `step` has shape `[actions]`, in nats. A constant added to it changes nothing.
    ///
    /// Source: arXiv:2505.22617, Lemma 1; derivation in `docs/theory.md#lemma-1`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action.
    pub fn entropy_change_first_order(&self, step: &[f64]) -> f64 {
        let step = self.centred(step);
        -self.expect(|action| self.centred_log_probs()[action] * step[action])
    }

    /// Second derivative of the entropy along `step`, at its start:
    /// `h''(0) = -E[(1 + log π + H)(δ - E δ)²]`, in nats.
    ///
    /// Derivation: `docs/theory.md#lemma-1`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action.
    pub fn entropy_curvature(&self, step: &[f64]) -> f64 {
        let step = self.centred(step);
        -self
            .expect(|action| (1.0 + self.centred_log_probs()[action]) * step[action] * step[action])
    }

    /// Change of entropy to second order when the logits move by `step`, in nats: Lemma 1 plus half
    /// the [curvature](Self::entropy_curvature). The error falls with the cube of the step.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action.
    pub fn entropy_change_second_order(&self, step: &[f64]) -> f64 {
        self.entropy_change_first_order(step) + 0.5 * self.entropy_curvature(step)
    }

    /// Exact change of entropy when the logits move by `step`, in nats, without cancellation.
    ///
    /// For steps of range up to 2 it is summed from the step itself, by
    ///
    /// ```text
    /// ΔH = -Σ π (w - 1)(log π + H) - KL(π_new ‖ π),   w = π_new / π
    /// ```
    ///
    /// so that it has full relative accuracy where a difference of two entropies has none: tiny
    /// steps, peaked policies. Longer steps use that difference. Derivation:
    /// `docs/theory.md#exact-change`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action, or is NaN or infinite at a possible one.
    pub fn entropy_change(&self, step: &[f64]) -> f64 {
        if self.step_range(step) > LARGEST_ACCURATE_RANGE {
            return self.moved(step, 1.0).entropy() - self.entropy();
        }
        let log_ratio = self.log_ratio_after(step);
        let centred = self.centred_log_probs();
        -self.expect(|action| log_ratio[action].exp_m1() * centred[action])
            - self.expect(|action| relative_entropy_term(log_ratio[action]))
    }

    /// `log π_new - log π` at each possible action, from the step itself; 0 elsewhere.
    pub(crate) fn log_ratio_after(&self, step: &[f64]) -> Vec<f64> {
        let anchor = step[self.mode()];
        let log_mean = self.expect(|action| (step[action] - anchor).exp_m1()).ln_1p();
        self.over_support(|action| (step[action] - anchor) - log_mean)
    }

    /// What Lemma 1 leaves out: exact change less first-order change, in nats.
    ///
    /// Integrated along the path rather than subtracted, so it stays accurate where both are nearly
    /// equal. Derivation: `docs/theory.md#remainder-bound`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action, or is NaN or infinite at a possible one.
    pub fn first_order_remainder(&self, step: &[f64]) -> f64 {
        if self.step_range(step) > LARGEST_ACCURATE_RANGE {
            return self.entropy_change(step) - self.entropy_change_first_order(step);
        }
        integrate_unit_interval(|time| {
            (1.0 - time) * self.moved(step, time).entropy_curvature(step)
        })
    }

    /// Rigorous bound on the absolute value of [what Lemma 1 leaves
    /// out](Self::first_order_remainder), in nats, for steps of any size:
    ///
    /// ```text
    /// |ΔH + Cov(log π, δ)| ≤ ⅛ (1 + √(1 + ¼ ln²(n - 1))) · (max δ - min δ)²
    /// ```
    ///
    /// with `n` possible actions, maximum and minimum over these. Proof:
    /// `docs/theory.md#remainder-bound`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action.
    pub fn remainder_bound(&self, step: &[f64]) -> f64 {
        if self.support() < 2 {
            return 0.0;
        }
        let log_others = ((self.support() - 1) as f64).ln();
        let constant = (1.0 + (0.25 * log_others).mul_add(log_others, 1.0).sqrt()) / 8.0;
        constant * self.step_range(step).powi(2)
    }

    /// Second rigorous bound on the same remainder, in nats: small where the policy is peaked.
    ///
    /// ```text
    /// |ΔH + Cov(log π, δ)| ≤ ½ (1 + Z + ω) e^ω Var_π(δ)
    /// ```
    ///
    /// with `ω` the range of the step and `Z` that of the logits, both over the possible actions.
    /// Proof: `docs/theory.md#remainder-bound`.
    ///
    /// # Panics
    ///
    /// If `step` does not hold one value per action.
    pub fn local_remainder_bound(&self, step: &[f64]) -> f64 {
        let range = self.step_range(step);
        let variance = self.covariance(step, step);
        if variance == 0.0 {
            return 0.0;
        }
        let logit_range = self.range_over_support(self.centred_log_probs());
        0.5 * (1.0 + logit_range + range) * range.exp() * variance
    }

    /// Range of the step over the possible actions.
    pub(crate) fn step_range(&self, step: &[f64]) -> f64 {
        self.check_length(step);
        self.range_over_support(step)
    }

    fn range_over_support(&self, values: &[f64]) -> f64 {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (action, &value) in values.iter().enumerate() {
            if self.is_possible(action) {
                low = low.min(value);
                high = high.max(value);
            }
        }
        high - low
    }

    /// The policy after the part `time` of the step.
    pub(crate) fn moved(&self, step: &[f64], time: f64) -> Self {
        let move_logit = |(action, log_odds): (usize, &f64)| {
            if self.is_possible(action) { time.mul_add(step[action], *log_odds) } else { *log_odds }
        };
        let logits: Vec<f64> =
            self.centred_log_probs().iter().enumerate().map(move_logit).collect();
        Self::from_logits(&logits).expect("a finite step keeps possible actions possible")
    }
}

/// `φ(x) = e^x (x - 1) + 1 = Σ_{n≥2} (n-1) xⁿ / n!`, non-negative; its mean under the policy, at
/// `x = log(π_new / π)`, is `KL(π_new ‖ π)`.
pub(crate) fn relative_entropy_term(x: f64) -> f64 {
    if x.abs() > 1.0 {
        return x.exp() * (x - 1.0) + 1.0;
    }
    let mut power = x; // xⁿ / n!
    let mut sum = 0.0;
    for n in 2..=22 {
        power *= x / f64::from(n);
        let term = f64::from(n - 1) * power;
        sum += term;
        if term.abs() <= 1e-18 * sum {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_entropy_term_is_continuous_where_the_series_ends() {
        for x in [1.0f64, -1.0] {
            let closed = x.exp() * (x - 1.0) + 1.0;
            assert!((relative_entropy_term(x) - closed).abs() < 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn relative_entropy_term_keeps_its_digits_near_zero() {
        let x = 1e-9;
        assert!((relative_entropy_term(x) / (0.5 * x * x + x * x * x / 3.0) - 1.0).abs() < 1e-15);
    }
}
