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
    /// [`InputError::Parameter`] if a bound is negative or no number, or the floor lies above the ceiling.
    pub fn new(floor: Option<f64>, ceiling: Option<f64>) -> Result<Self, InputError> {
        let (floor, ceiling) = (floor.unwrap_or(0.0), ceiling.unwrap_or(f64::INFINITY));
        let valid = floor >= 0.0 && floor.is_finite();
        check_parameter("entropy floor", floor, valid, "a number of at least 0, in nats")?;
        let expected = "a number of at least the floor, in nats";
        check_parameter("entropy ceiling", ceiling, ceiling >= floor, expected)?;
        Ok(Self { floor, ceiling })
    }

    /// Least entropy, in nats; 0 is no bound.
    pub fn floor(self) -> f64 {
        self.floor
    }

    /// Largest entropy, in nats; infinite is no bound.
    pub fn ceiling(self) -> f64 {
        self.ceiling
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn binary(p: f64) -> f64 {
        -(p * p.ln() + (1.0 - p) * (1.0 - p).ln())
    }

    /// Two actions with a gap of g have odds e^(g/T).
    #[test]
    fn two_actions_have_the_temperature_of_their_odds() {
        for gap in [0.5, 3.0, 40.0] {
            for p in [0.55f64, 0.9, 0.999, 1.0 - 1e-9] {
                let expected = gap / (p / (1.0 - p)).ln();
                let temperature =
                    temperature_of_entropy(&[gap, 0.0], binary(p), 1e-3, 1e4).unwrap();
                // Near even odds the entropy is flat: half the digits are left.
                assert!(
                    (temperature / expected - 1.0).abs() < 1e-6,
                    "{gap} {p}: {temperature} {expected}"
                );
            }
        }
    }

    /// One action above n equal ones: ln(1 + n e^-u) + u n e^-u / (1 + n e^-u) with u = g / T.
    #[test]
    fn one_action_above_many_equal_ones_has_its_closed_form() {
        let (gap, others, wanted) = (12.0f64, 50_000_u32, 4.0f64);
        let mut logits = vec![0.0; 50_001];
        logits[7] = gap;
        let temperature = temperature_of_entropy(&logits, wanted, 0.1, 10.0).unwrap();
        let u = gap / temperature;
        let odds = f64::from(others) * (-u).exp();
        let entropy = odds.ln_1p() + u * odds / (1.0 + odds);
        assert!((entropy - wanted).abs() < 1e-11, "{entropy} at {temperature}");
    }

    #[test]
    fn what_no_temperature_reaches_gives_the_nearer_end() {
        let tie = [1.0, 1.0, 0.0];
        assert!((temperature_of_entropy(&tie, 0.5, 0.1, 10.0).unwrap() - 0.1).abs() < 1e-15);
        assert!((temperature_of_entropy(&tie, 1.2, 0.1, 10.0).unwrap() - 10.0).abs() < 1e-15);
    }

    /// Odds of `e^(1 / T)`: too even they sharpen to the ceiling, too sharp they flatten to the floor, and no further than tenfold.
    #[test]
    fn outside_the_band_the_nearer_bound_is_held() {
        let hold = |floor, ceiling, base| {
            EntropyBand::new(Some(floor), Some(ceiling)).unwrap().hold(&[1.0, 0.0], base).unwrap()
        };
        let temperature = |p: f64| 1.0 / (p / (1.0 - p)).ln();
        let cooled = hold(binary(0.99), binary(0.9), 1.0);
        assert!((cooled.entropy - binary(0.9)).abs() < 1e-12, "{cooled:?}");
        assert!((cooled.temperature - temperature(0.9)).abs() < 1e-9, "{cooled:?}");
        let warmed = hold(binary(0.9), binary(0.7), 0.2);
        assert!((warmed.temperature - temperature(0.9)).abs() < 1e-9, "{warmed:?}");
        assert!((hold(0.69, 0.7, 0.2).temperature - 2.0).abs() < 1e-12);
        assert!((hold(0.0, 0.001, 2.0).temperature - 0.2).abs() < 1e-12);
    }

    #[test]
    fn inside_the_band_nothing_moves() {
        let band = EntropyBand::new(Some(0.1), Some(1.0)).unwrap();
        let result = band.hold(&[1.0, 0.0], 0.7).unwrap();
        assert_eq!(result.temperature.to_bits(), 0.7f64.to_bits());
        let free = EntropyBand::new(None, None).unwrap().hold(&[0.0; 9], 1.3).unwrap();
        assert_eq!(free.temperature.to_bits(), 1.3f64.to_bits());
        assert!((free.entropy - 9f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn bounds_that_are_none_are_refused() {
        let refused = |floor, ceiling| EntropyBand::new(floor, ceiling).unwrap_err().to_string();
        let floor = "`entropy floor` is -1; expected a number of at least 0, in nats";
        assert_eq!(refused(Some(-1.0), None), floor);
        let ceiling = "`entropy ceiling` is 0.5; expected a number of at least the floor, in nats";
        assert_eq!(refused(Some(1.0), Some(0.5)), ceiling);
        assert!(refused(None, Some(f64::NAN)).contains("entropy ceiling"));
        assert!(temperature_of_entropy(&[0.0, 1.0], 0.5, 2.0, 1.0).is_err());
        assert!(entropy_at_temperature(&[0.0, 1.0], 0.0).is_err());
    }

    proptest! {
        /// The entropy lies on the bound that was missed, or the temperature at the end of its reach.
        #[test]
        fn the_band_is_held_or_the_reach_is_spent(
            logits in prop::collection::vec(-20.0..20.0f64, 2..60),
            floor in 0.0..2.0f64,
            width in 0.0..1.0f64,
            base in 0.2..2.0f64,
        ) {
            let band = EntropyBand::new(Some(floor), Some(floor + width)).unwrap();
            let result = band.hold(&logits, base).unwrap();
            let again = entropy_at_temperature(&logits, result.temperature).unwrap();
            prop_assert!((again - result.entropy).abs() < 1e-12);
            let inside = result.entropy > floor - 1e-9 && result.entropy < floor + width + 1e-9;
            let is_at = |end: f64| (result.temperature / end - 1.0).abs() < 1e-9;
            let (lowest, highest) = (base / EntropyBand::REACH, base * EntropyBand::REACH);
            let spent =
                (is_at(highest) && again < floor) || (is_at(lowest) && again > floor + width);
            prop_assert!(inside || spent, "{result:?}");
        }

        /// Half way in ln T between two entropies there is another between them.
        #[test]
        fn entropy_rises_with_the_temperature(
            logits in prop::collection::vec(-20.0..20.0f64, 1..60),
            low in 0.1..5.0f64,
            factor in 1.0..3.0f64,
        ) {
            let cool = entropy_at_temperature(&logits, low).unwrap();
            let warm = entropy_at_temperature(&logits, low * factor).unwrap();
            prop_assert!(warm >= cool - 1e-13, "{cool} {warm}");
        }
    }
}
