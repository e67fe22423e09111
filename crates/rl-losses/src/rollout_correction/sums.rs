//! Statistics that a rollout correction reports.

use serde::Serialize;

/// Statistics of a correction over whole sequences.
///
/// `ℓ = old_log_prob - rollout_log_prob`, each token's clamped to ±20 nats. Weights are those after
/// the bound and before normalisation, which is a common factor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CorrectionSums {
    /// Tokens seen.
    pub tokens: usize,
    /// Sequences that hold a token.
    pub sequences: usize,
    /// `Σ_t w_t`.
    pub weight: f64,
    /// `Σ_t w_t²`.
    pub weight_squared: f64,
    /// Sum of the weights over their units: tokens, or sequences with a token.
    pub unit_weight: f64,
    /// Number of units.
    pub units: usize,
    /// Units above the bound.
    pub above: usize,
    /// Units below the bound.
    pub below: usize,
    /// Sequences that a veto or a rejection left out as one.
    pub vetoed: usize,
    /// `Σ_t (e^ℓ_t - 1 - ℓ_t)`, in nats.
    pub k3: f64,
}

impl CorrectionSums {
    /// Mean weight of a token. NaN if there are none.
    pub fn mean_weight(&self) -> f64 {
        self.weight / self.tokens as f64
    }

    /// Effective sample size as a fraction of the tokens, `(Σ w)² / (N Σ w²)`, `0..=1`: 1 where all
    /// weigh alike. NaN if nothing weighs anything.
    pub fn effective_fraction(&self) -> f64 {
        self.weight * self.weight / (self.tokens as f64 * self.weight_squared)
    }

    /// Fraction of the units (tokens or sequences) above the bound. NaN if there are none.
    pub fn fraction_above(&self) -> f64 {
        self.above as f64 / self.units as f64
    }

    /// Fraction of the units below the bound. NaN if there are none.
    pub fn fraction_below(&self) -> f64 {
        self.below as f64 / self.units as f64
    }

    /// Fraction of the sequences that a veto or a rejection left out as one. NaN if there are none.
    pub fn fraction_vetoed(&self) -> f64 {
        self.vetoed as f64 / self.sequences as f64
    }

    /// `KL(rollout ‖ old)` per token by the estimate that is never negative, in nats. NaN if there
    /// are no tokens.
    pub fn mismatch_k3(&self) -> f64 {
        self.k3 / self.tokens as f64
    }
}
