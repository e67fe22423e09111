//! Change of a policy's entropy under a step of its logits: Lemma 1, the orders after it, and
//! bounds on its remainder.

use crate::categorical::Categorical;
use crate::exact::{self, Direction, Figure};

impl Categorical {
    /// First-order change of entropy when the logits move by `step`, in nats (Lemma 1).
    ///
    /// ```text
    /// H(z + δ) - H(z) = -Cov_{a~π}(log π(a), δ(a)) + O(|δ|²)
    /// ```
    ///
    /// `step` has shape `[actions]`, in nats. A constant added to it changes nothing. The relative error is at most
    /// 1e-13, and an exact 0 is 0.
    ///
    /// Source: arXiv:2505.22617, Lemma 1; derivation in `docs/theory.md#lemma-1`.
    pub fn entropy_change_first_order(&self, step: &[f64]) -> f64 {
        exact::figure(self, Direction::step(step), Figure::FirstOrder)
    }

    /// Second derivative of the entropy along `step`, at its start:
    /// `h''(0) = -E[(1 + log π + H)(δ - E δ)²]`, in nats.
    ///
    /// Derivation: `docs/theory.md#lemma-1`.
    pub fn entropy_curvature(&self, step: &[f64]) -> f64 {
        exact::figure(self, Direction::step(step), Figure::Curvature)
    }

    /// Change of entropy to second order when the logits move by `step`, in nats: Lemma 1 plus half
    /// the [curvature](Self::entropy_curvature). The error falls with the cube of the step.
    pub fn entropy_change_second_order(&self, step: &[f64]) -> f64 {
        self.entropy_change_first_order(step) + 0.5 * self.entropy_curvature(step)
    }

    /// Third derivative of the entropy along `step`, at its start:
    /// `-2 κ₃(δ) - κ₄(log π, δ, δ, δ)` with joint cumulants `κ`, in nats.
    ///
    /// Derivation: `docs/theory.md#higher-orders`.
    pub fn entropy_third_derivative(&self, step: &[f64]) -> f64 {
        let step = self.centred(step);
        let centred = self.centred_log_probs();
        let cumulants = self.expect(|a| (2.0 + centred[a]) * step[a] * step[a] * step[a]);
        let covariance = self.expect(|a| centred[a] * step[a]);
        let variance = self.expect(|a| step[a] * step[a]);
        3.0 * covariance * variance - cumulants
    }

    /// Change of entropy to third order when the logits move by `step`, in nats; the error falls
    /// with the fourth power of the step.
    pub fn entropy_change_third_order(&self, step: &[f64]) -> f64 {
        self.entropy_change_second_order(step) + self.entropy_third_derivative(step) / 6.0
    }

    /// Remainder of Lemma 1: exact change less first-order change, in nats.
    ///
    /// Summed directly, not subtracted: the relative error is at most 1e-13 even where both are nearly
    /// equal. Derivation: `docs/theory.md#cancellation`.
    pub fn first_order_remainder(&self, step: &[f64]) -> f64 {
        exact::figure(self, Direction::step(step), Figure::Remainder)
    }

    /// Rigorous bound on the absolute value of the [remainder of Lemma
    /// 1](Self::first_order_remainder), in nats, for steps of any size:
    ///
    /// ```text
    /// |ΔH + Cov(log π, δ)| ≤ ⅛ (1 + √(1 + ¼ ln²(n - 1))) · (max δ - min δ)²
    /// ```
    ///
    /// with `n` possible actions, maximum and minimum over these. Proof:
    /// `docs/theory.md#remainder-bound`.
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

    pub(crate) fn range_over_support(&self, values: &[f64]) -> f64 {
        let possible = || self.possible().map(|action| values[action]);
        possible().fold(f64::NEG_INFINITY, f64::max) - possible().fold(f64::INFINITY, f64::min)
    }
}
