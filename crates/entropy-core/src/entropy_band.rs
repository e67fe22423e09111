//! The temperature at which a policy has a given entropy.

use crate::categorical::LogitsError;
use crate::input_error::{InputError, check_parameter};
use crate::kernel::{row, tempered};
use crate::root;

/// Relative error of the entropy at which the search for a temperature ends.
const TOLERANCE: f64 = 1e-12;

/// Entropy of `softmax(z / T)`, in nats, for `logits` of shape `[actions]`.
///
/// # Errors
///
/// [`InputError`] if the logits define no distribution or `temperature` is not a positive number.
pub fn entropy_at_temperature(logits: &[f64], temperature: f64) -> Result<f64, InputError> {
    check_temperature("temperature", temperature)?;
    Ok(tempered(logits, row::mode(logits)?, temperature).entropy)
}

/// Temperature `T` within `low..=high` at which `softmax(z / T)` has this entropy, in nats.
///
/// ```text
/// H(softmax(z / T)) = entropy,    dH / d ln T = Var_π(log π) ≥ 0
/// ```
///
/// Solved by Newton's method in `ln T`, safeguarded by bisection, to 1e-12 of the entropy. Returns `low` if the entropy is
/// below the reachable range, `high` if it is above. Derivation:
/// `docs/theory.md#entropy-at-a-temperature`.
///
/// # Errors
///
/// [`InputError`] if the logits define no distribution, a temperature is not a positive number, `low` exceeds `high` or
/// `entropy` is NaN.
///
/// # Examples
///
/// ```
/// use entropy_core::temperature_of_entropy;
///
/// // Odds of three to one in place of nine to one: half the gap, twice the temperature.
/// let wanted = -(0.75f64 * 0.75f64.ln() + 0.25 * 0.25f64.ln());
/// let temperature = temperature_of_entropy(&[9f64.ln(), 0.0], wanted, 0.1, 10.0)?;
/// assert!((temperature - 2.0).abs() < 1e-11);
/// # Ok::<(), entropy_core::InputError>(())
/// ```
pub fn temperature_of_entropy(
    logits: &[f64],
    entropy: f64,
    low: f64,
    high: f64,
) -> Result<f64, InputError> {
    check_temperature("low", low)?;
    check_temperature("high", high)?;
    check_parameter("low", low, low <= high, "at most `high`")?;
    check_parameter("entropy", entropy, !entropy.is_nan(), "a number")?;
    Ok(solve(logits, row::mode(logits)?, entropy, low, high))
}

/// Solves [`temperature_of_entropy`] for checked inputs, with the action of the largest logit at `mode`.
fn solve(logits: &[f64], mode: usize, entropy: f64, low: f64, high: f64) -> f64 {
    let excess_and_slope = |log_temperature: f64| {
        let current = tempered(logits, mode, log_temperature.exp());
        let excess = current.entropy - entropy;
        // Within rounding of the sums: no step would bring it nearer.
        (if excess.abs() <= TOLERANCE * entropy { 0.0 } else { excess }, current.slope)
    };
    let (start, end) = (low.ln(), high.ln());
    if excess_and_slope(start).0 >= 0.0 {
        return low;
    }
    if excess_and_slope(end).0 <= 0.0 {
        return high;
    }
    root::increasing(excess_and_slope, start, end).exp()
}

/// Bounds of the entropy of the distribution that a token is drawn from, in nats.
///
/// The temperature of each token moves from a base temperature to the nearest one whose entropy lies within the bounds. It
/// stays within `base / 10..=10 base` ([`EntropyBand::REACH`]): a bound that needs more is missed.
/// Derivation: `docs/theory.md#entropy-at-a-temperature`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyBand {
    floor: f64,
    ceiling: f64,
}

/// A temperature and the entropy it gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtTemperature {
    /// Divisor of the logits.
    pub temperature: f64,
    /// Entropy of `softmax(z / temperature)`, in nats.
    pub entropy: f64,
}

impl EntropyBand {
    /// Largest factor by which a temperature is moved, either way.
    pub const REACH: f64 = 10.0;

    /// Creates a band; `None` sets no bound on that side.
    ///
    /// # Errors
    ///
    /// [`InputError`] if a bound is negative or no number, or the floor lies above the ceiling.
    pub fn new(floor: Option<f64>, ceiling: Option<f64>) -> Result<Self, InputError> {
        let (floor, ceiling) = (floor.unwrap_or(0.0), ceiling.unwrap_or(f64::INFINITY));
        let valid = floor >= 0.0 && floor.is_finite();
        check_parameter("entropy floor", floor, valid, "a number of at least 0, in nats")?;
        let expected = "a number of at least the floor, in nats";
        check_parameter("entropy ceiling", ceiling, ceiling >= floor, expected)?;
        Ok(Self { floor, ceiling })
    }

    /// Returns the temperature nearest to `base` whose entropy lies within the bounds, with that entropy: `base` itself, to the
    /// bit, if it does already. `logits` is `[actions]`; `-∞` marks an impossible action.
    ///
    /// # Errors
    ///
    /// [`LogitsError`] if the logits define no distribution.
    ///
    /// # Panics
    ///
    /// If `base` is not a positive number.
    pub fn hold(self, logits: &[f64], base: f64) -> Result<AtTemperature, LogitsError> {
        assert!(base > 0.0 && base.is_finite(), "the base temperature is {base}");
        let mode = row::mode(logits)?;
        let entropy = tempered(logits, mode, base).entropy;
        let temperature = if entropy < self.floor {
            solve(logits, mode, self.floor, base, base * Self::REACH)
        } else if entropy > self.ceiling {
            solve(logits, mode, self.ceiling, base / Self::REACH, base)
        } else {
            return Ok(AtTemperature { temperature: base, entropy });
        };
        Ok(AtTemperature { temperature, entropy: tempered(logits, mode, temperature).entropy })
    }
}

fn check_temperature(name: &'static str, value: f64) -> Result<(), InputError> {
    check_parameter(name, value, value > 0.0 && value.is_finite(), "a number above 0")
}
