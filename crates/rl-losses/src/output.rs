//! The outcome of an evaluation.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Value, gradient and sums of one evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct LossOutput<R = f64> {
    /// `Σ_t w_t ℓ_t`, to be minimised.
    pub value: f64,
    /// `∂value/∂log π_θ(y_t)`, `[tokens]`.
    pub grad_log_prob: Vec<R>,
    /// Counts and sums to report.
    pub sums: LossSums,
}

/// Value and sums of a run of tokens; the gradient is written elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evaluation {
    /// `Σ_t w_t ℓ_t`, to be minimised.
    pub value: f64,
    /// Counts and sums to report.
    pub sums: LossSums,
}

/// Additive statistics of an evaluation: add every part and rank, then divide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LossSums {
    /// Tokens seen.
    pub tokens: usize,
    /// Tokens in the flat part of a clip, or whose weight is held at a bound.
    pub clipped: usize,
    /// Tokens held at the dual clip's ceiling.
    pub clipped_lower: usize,
    /// Tokens the method singles out: dropped by Clip-Cov, penalised by KL-Cov, kept by the 80/20
    /// rule.
    pub selected: usize,
    /// Tokens whose gradient is another than that of the plain surrogate `-r A`: where it is 0 of many,
    /// the method did nothing.
    #[serde(default)]
    pub altered: usize,
    /// `Σ_t (log π_old - log π_θ)`, in nats (each held to ±20 by the methods that hold it).
    pub neg_log_ratio: f64,
    /// `Σ_t |log π_θ - log π_old|`, in nats (each held to ±20 by the methods that hold it).
    pub abs_log_ratio: f64,
}

impl LossSums {
    /// Mean of `log π_old - log π_θ` over the tokens, in nats: the k1 estimate of `KL(π_old ‖
    /// π_θ)`, for every loss.
    ///
    /// verl's `actor/ppo_kl`, except for KL-Cov, where verl reports the mean of `|log π_θ - log π_old|`
    /// under the same name: row 20 of `docs/paper-vs-code.md`. NaN if there are no tokens.
    pub fn ppo_kl(&self) -> f64 {
        self.neg_log_ratio / self.tokens as f64
    }

    /// Fraction of the tokens in the flat part of the clipped surrogate, `0..=1`. NaN if there are
    /// no tokens.
    ///
    /// verl's `actor/pg_clipfrac` of PPO. Under Clip-Cov verl gives that name to
    /// [`selected_fraction`](Self::selected_fraction): row 19 of `docs/paper-vs-code.md`.
    pub fn clip_fraction(&self) -> f64 {
        self.clipped as f64 / self.tokens as f64
    }

    /// Fraction of the tokens at the dual clip's ceiling, `0..=1`: verl's
    /// `actor/pg_clipfrac_lower`. NaN if there are no tokens.
    pub fn clip_fraction_lower(&self) -> f64 {
        self.clipped_lower as f64 / self.tokens as f64
    }

    /// Fraction of the tokens that the method singles out, `0..=1`. NaN if there are no tokens.
    pub fn selected_fraction(&self) -> f64 {
        self.selected as f64 / self.tokens as f64
    }
}

impl AddAssign for LossSums {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.clipped += other.clipped;
        self.clipped_lower += other.clipped_lower;
        self.selected += other.selected;
        self.altered += other.altered;
        self.neg_log_ratio += other.neg_log_ratio;
        self.abs_log_ratio += other.abs_log_ratio;
    }
}
