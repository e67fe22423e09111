//! Estimators of a KL divergence from one sampled token.

use serde::{Deserialize, Serialize};

use crate::term::Term;

/// verl holds `-x` of `k3` to this before `exp`, in nats.
const EXPONENT_LIMIT: f64 = 20.0;

/// verl holds the value of `k3` to this, in nats.
const VALUE_LIMIT: f64 = 10.0;

/// Estimator of `KL(π ‖ π_ref)` from `x = log π(y) - log π_ref(y)` of a token `y ~ π`.
///
/// | name  | value         | mean under `π` | derivative    | mean gradient of the value as a **loss**  |
/// |-------|---------------|----------------|---------------|-------------------------------------------|
/// | `k1`  | `x`           | the KL         | `1`           | **none**: `E ∇log π = 0`, only noise      |
/// | `abs` | `abs(x)`      | above the KL   | `sign x`      | that of no divergence                     |
/// | `k2`  | `x²/2`        | near the KL    | `x`           | `∇ KL(π ‖ π_ref)`                         |
/// | `k3`  | `e^-x + x - 1`| the KL         | `1 - e^-x`    | `∇ KL(π_ref ‖ π)`, the other direction    |
/// | `k1+`, `abs+`, `k3+` | as without `+` | | `x`    | `∇ KL(π ‖ π_ref)`: `k2`'s, straight through |
///
/// In the **reward** it is the value that counts (`-β k(x)` times `∇log π`), and only `k1` gives
/// `∇ KL(π ‖ π_ref)` there. `k3` is 0 or above for every token, and flat where verl holds it: `-x`
/// to ±20 and the value to 10 nats.
///
/// verl's names `kl`, `mse` and `low_var_kl` are read as `k1`, `k2` and `k3`.
///
/// Source: Schulman 2020, `joschu.net/blog/kl-approx.html`; verl `kl_penalty`; the gradients are
/// checked against finite differences of the divergences in `tests/it/kl.rs`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum KlEstimator {
    /// `x`.
    #[serde(rename = "k1", alias = "kl")]
    K1,
    /// `|x|`.
    #[serde(rename = "abs")]
    Abs,
    /// `x² / 2`.
    #[serde(rename = "k2", alias = "mse", alias = "k2+", alias = "mse+")]
    K2,
    /// `e^-x + x - 1`.
    #[default]
    #[serde(rename = "k3", alias = "low_var_kl")]
    K3,
    /// The value of `k1` with the derivative of `k2`.
    #[serde(rename = "k1+", alias = "kl+")]
    K1StraightThrough,
    /// The value of `abs` with the derivative of `k2`.
    #[serde(rename = "abs+")]
    AbsStraightThrough,
    /// The value of `k3` with the derivative of `k2`.
    #[serde(rename = "k3+", alias = "low_var_kl+")]
    K3StraightThrough,
}

impl KlEstimator {
    /// Value, in nats, and derivative with respect to `log π(y)`, at `log_ratio = log π(y) - log
    /// π_ref(y)`.
    pub fn term(self, log_ratio: f64) -> Term {
        match self {
            Self::K1 => Term { value: log_ratio, d_log_prob: 1.0 },
            Self::Abs => Term { value: log_ratio.abs(), d_log_prob: sign(log_ratio) },
            Self::K2 => Term { value: 0.5 * log_ratio * log_ratio, d_log_prob: log_ratio },
            Self::K3 => k3(log_ratio),
            Self::K1StraightThrough => Term { d_log_prob: log_ratio, ..Self::K1.term(log_ratio) },
            Self::AbsStraightThrough => Term { d_log_prob: log_ratio, ..Self::Abs.term(log_ratio) },
            Self::K3StraightThrough => Term { d_log_prob: log_ratio, ..Self::K3.term(log_ratio) },
        }
    }
}

fn k3(log_ratio: f64) -> Term {
    let held = log_ratio.clamp(-EXPONENT_LIMIT, EXPONENT_LIMIT);
    // The difference of e^-x and 1 - x keeps its digits where the policies are close.
    let value = (-held).exp_m1() + held;
    let is_flat = log_ratio.abs() > EXPONENT_LIMIT || value > VALUE_LIMIT;
    let d_log_prob = if is_flat { 0.0 } else { -(-held).exp_m1() };
    Term { value: value.min(VALUE_LIMIT), d_log_prob }
}

/// Sign with `sign(0) = 0`, as torch has it for the slope of `|x|`.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
