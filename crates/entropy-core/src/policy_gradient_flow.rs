//! The continuous-time policy gradient where it can be solved: two kinds of arms.

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_finite, check_parameter};
use crate::root;

/// Beyond this difference of two logits `f64` holds no odds.
const LARGEST_LOG_RATIO: f64 = 700.0;

/// Flow `ż(a) = π(a)(r(a) - R)` of one state with `better` equal actions whose reward exceeds that
/// of `worse` equal others by `gap`.
///
/// With `x = z_better - z_worse` it obeys an implicit equation, solved here to rounding:
///
/// ```text
/// F(x_t) = F(x_0) + (1/k + 1/m) gap t,   F(x) = (k/m) e^x + 2x - (m/k) e^(-x)
/// two arms:  x_t + sinh x_t = x_0 + sinh x_0 + gap t
/// ```
///
/// Derivation: `docs/theory.md#policy-gradient-flow`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyGradientFlow {
    better: usize,
    worse: usize,
    log_ratio: f64,
    gap: f64,
}

impl PolicyGradientFlow {
    /// A flow that starts at `log_ratio`, the log-probability of a better action less that of a
    /// worse one, in nats, with the reward difference `gap` (of either sign).
    ///
    /// # Errors
    ///
    /// [`InputError`] if there is no action of a kind, or a number is not finite or the
    /// ratio beyond ±700.
    pub fn new(better: usize, worse: usize, log_ratio: f64, gap: f64) -> Result<Self, InputError> {
        for (name, count) in [("better", better), ("worse", worse)] {
            check_parameter(name, count as f64, count > 0, "at least 1 action")?;
        }
        let within = log_ratio.abs() <= LARGEST_LOG_RATIO;
        check_parameter("log_ratio", log_ratio, within, "a number within -700..=700")?;
        check_finite("gap", gap)?;
        Ok(Self { better, worse, log_ratio, gap })
    }

    /// Log-probability of a better action less that of a worse one after `time`, in nats.
    ///
    /// Solved for the distance travelled, so that short times keep their digits. `time` may be
    /// negative.
    pub fn log_ratio_at(&self, time: f64) -> f64 {
        let (k, m) = (self.better as f64, self.worse as f64);
        let travel = (1.0 / k + 1.0 / m) * self.gap * time;
        if travel >= 0.0 {
            self.log_ratio + distance(self.log_ratio, k / m, travel)
        } else {
            self.log_ratio - distance(-self.log_ratio, m / k, -travel)
        }
    }

    /// The policy after `time`: the better actions first, then the worse ones.
    ///
    /// # Panics
    ///
    /// If `time` is NaN or infinite.
    pub fn policy_at(&self, time: f64) -> Categorical {
        let mut logits = vec![self.log_ratio_at(time); self.better];
        logits.resize(self.better + self.worse, 0.0);
        Categorical::from_logits(&logits).expect("a finite time gives a finite logit")
    }
}

/// The `d >= 0` at which `F(x + d) - F(x) = travel`, with `F(x) = q e^x + 2x - e^(-x) / q`.
fn distance(x: f64, q: f64, travel: f64) -> f64 {
    if travel == 0.0 {
        return 0.0;
    }
    let (rising, falling) = (q * x.exp(), (-x).exp() / q);
    let value_and_slope = |d: f64| {
        let value = rising * d.exp_m1() + 2.0 * d - falling * (-d).exp_m1() - travel;
        (value, rising * d.exp() + 2.0 + falling * (-d).exp())
    };
    // Each of the three terms, all of one sign, bounds the distance alone.
    let high = (0.5 * travel).min((travel / rising).ln_1p()) * (1.0 + 1e-12);
    root::increasing(value_and_slope, 0.0, high)
}
