//! Entropies beside Shannon's: Tsallis and Rényi, and their differentials.

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_parameter};
use crate::summation::sum;

impl Categorical {
    /// Tsallis entropy `S_q = (1 - Σ π^q) / (q - 1)`; Shannon's, in nats, at `order` 1.
    ///
    /// Derivation: `docs/theory.md#generalised-entropies`.
    ///
    /// # Errors
    ///
    /// [`InputError`] unless `order` is finite and 0 or above.
    pub fn tsallis_entropy(&self, order: f64) -> Result<f64, InputError> {
        check_order(order, order.is_finite())?;
        Ok(-sum(self.possible().map(|action| self.deformed_log_prob(action, order))))
    }

    /// First-order change of the [Tsallis entropy](Self::tsallis_entropy) when the logits move by
    /// `step`: `-q/(q - 1) Cov(π^(q-1), δ)`.
    ///
    /// Derivation: `docs/theory.md#generalised-entropies`.
    ///
    /// # Errors
    ///
    /// [`InputError`] unless `order` is finite and 0 or above.
    pub fn tsallis_change_first_order(&self, order: f64, step: &[f64]) -> Result<f64, InputError> {
        check_order(order, order.is_finite())?;
        let step = self.centred(step);
        let terms = self.possible().map(|a| self.deformed_log_prob(a, order) * step[a]);
        Ok(-order * sum(terms))
    }

    /// Rényi entropy `ln(Σ π^q) / (1 - q)`, in nats: `ln(support)` at `order` 0, Shannon's at 1,
    /// `-ln max π` at infinity.
    ///
    /// Derivation: `docs/theory.md#generalised-entropies`.
    ///
    /// # Errors
    ///
    /// [`InputError`] unless `order` is 0 or above.
    pub fn renyi_entropy(&self, order: f64) -> Result<f64, InputError> {
        check_order(order, true)?;
        let of_mode = self.log_probs()[self.mode()];
        if order.is_infinite() {
            return Ok(-of_mode);
        }
        let tsallis = self.tsallis_entropy(order)?;
        let deviation = (1.0 - order) * tsallis; // Σ π^q - 1
        Ok(if deviation == 0.0 {
            tsallis // Shannon's, or no entropy at all
        } else if deviation.abs() < 0.5 {
            deviation.ln_1p() / (1.0 - order)
        } else {
            self.log_power_sum(order) / (1.0 - order)
        })
    }

    /// First-order change of the [Rényi entropy](Self::renyi_entropy) when the logits move by
    /// `step`, in nats: that of Tsallis divided by `Σ π^q`.
    ///
    /// Derivation: `docs/theory.md#generalised-entropies`.
    ///
    /// # Errors
    ///
    /// [`InputError`] unless `order` is finite and 0 or above.
    pub fn renyi_change_first_order(&self, order: f64, step: &[f64]) -> Result<f64, InputError> {
        Ok(self.tsallis_change_first_order(order, step)? / self.log_power_sum(order).exp())
    }

    /// `π (π^(q-1) - 1) / (q - 1)`, which is `π ln π` at `q = 1`.
    fn deformed_log_prob(&self, action: usize, order: f64) -> f64 {
        let (prob, log_prob) = (self.probs()[action], self.log_probs()[action]);
        let excess = order - 1.0;
        if excess == 0.0 {
            return if prob > 0.0 { prob * log_prob } else { 0.0 };
        }
        let exponent = excess * log_prob;
        if exponent.abs() < 1.0 {
            prob * exponent.exp_m1() / excess
        } else {
            // π^q may be a number where π is none, and π^(q-1) infinite.
            ((order * log_prob).exp() - prob) / excess
        }
    }

    /// `ln Σ π^q`, without underflow.
    fn log_power_sum(&self, order: f64) -> f64 {
        let of_mode = self.log_probs()[self.mode()];
        let relative =
            sum(self.possible().map(|a| (order * (self.log_probs()[a] - of_mode)).exp()));
        order.mul_add(of_mode, relative.ln())
    }
}

fn check_order(order: f64, holds: bool) -> Result<(), InputError> {
    check_parameter("order", order, holds && order >= 0.0, "0 or above")
}
