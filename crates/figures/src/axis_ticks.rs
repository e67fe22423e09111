//! Round numbers along an axis.

use crate::number_format::{fixed, power_of_ten};

/// Tick positions with their labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ticks {
    /// Positions, rising, inside the range asked for.
    pub positions: Vec<f64>,
    /// One label per position.
    pub labels: Vec<String>,
    /// `×10⁻⁵` if the labels have to be multiplied by that, else empty: belongs on the axis.
    pub factor: String,
}

impl Ticks {
    /// Only the ticks at whole numbers, with labels to match.
    #[must_use]
    pub fn whole(self) -> Self {
        let Self { mut positions, labels, factor } = self;
        if !factor.is_empty() || positions.iter().all(|position| position.fract().abs() <= 0.0) {
            return Self { positions, labels, factor };
        }
        positions.retain(|position| (position - position.round()).abs() < 1e-6);
        let labels = positions.iter().map(|&position| fixed(position, 0)).collect();
        Self { positions, labels, factor }
    }
}

/// About `target` multiples of 1, 2 or 5 times a power of ten inside `low..=high`.
///
/// No ticks if the range is empty or not finite.
pub fn axis_ticks(low: f64, high: f64, target: usize) -> Ticks {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return Ticks::default();
    }
    let step = nice_step(span / target.max(1) as f64);
    let slack = 1e-9 * step;
    let first = ((low - slack) / step).ceil();
    let positions: Vec<f64> = (0..=4 * target.max(1))
        .map(|index| (first + index as f64) * step)
        .take_while(|&position| position <= high + slack)
        .map(|position| if position.abs() < slack { 0.0 } else { position })
        .collect();
    let largest = positions.iter().fold(0.0_f64, |largest, position| largest.max(position.abs()));
    let magnitude = if largest > 0.0 { order(largest) } else { 0 };
    let exponent = if (-2..=4).contains(&magnitude) { 0 } else { magnitude };
    let unit = 10_f64.powi(exponent);
    let decimals = usize::try_from(exponent - order(step * (1.0 + 1e-9))).unwrap_or(0);
    let labels = positions.iter().map(|position| fixed(position / unit, decimals)).collect();
    let factor = if exponent == 0 { String::new() } else { power_of_ten(exponent) };
    Ticks { positions, labels, factor }
}

/// Powers of ten inside `low..=high`, every second or third where there are many, and their multiples by 2 and 5
/// where there are few; ticks of a linear axis where even those are fewer than two.
///
/// No ticks if the range is empty, not finite or not positive.
pub fn log_ticks(low: f64, high: f64, target: usize) -> Ticks {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return Ticks::default();
    }
    let (first, last) = (order(low), order(high) + 1);
    let inside = |value: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value);
    let multiples = |factors: &[f64], stride: usize| -> Vec<f64> {
        let stride = i32::try_from(stride).unwrap_or(i32::MAX);
        let powers = (first..=last).filter(|power| power.rem_euclid(stride) == 0);
        let of_power = |power| factors.iter().map(move |factor| factor * 10_f64.powi(power));
        powers.flat_map(of_power).filter(inside).collect()
    };
    let decades = multiples(&[1.0], 1);
    let positions = match decades.len() {
        many if many > target + 1 => multiples(&[1.0], many.div_ceil(target.max(1))),
        3.. => decades,
        _ => multiples(&[1.0, 2.0, 5.0], 1),
    };
    if positions.len() < 2 {
        return axis_ticks(low, high, target);
    }
    let labels = positions.iter().map(|&position| log_label(position)).collect();
    Ticks { positions, labels, factor: String::new() }
}

/// `0.02`, `500` or `2×10⁻⁵`, `10⁶`.
fn log_label(value: f64) -> String {
    let exponent = order(value * (1.0 + 1e-9));
    if (-3..=4).contains(&exponent) {
        let decimals = usize::try_from(-exponent).unwrap_or(0);
        return fixed(value, decimals);
    }
    let mantissa = fixed(value / 10_f64.powi(exponent), 0);
    let power = power_of_ten(exponent);
    if mantissa == "1" { power.trim_start_matches('×').to_owned() } else { mantissa + &power }
}

/// Rounds `step` to the nearest of 1, 2, 5 times powers of ten, by ratio.
fn nice_step(step: f64) -> f64 {
    let power = 10_f64.powi(order(step));
    let mantissa = step / power;
    let steps = [(2_f64.sqrt(), 1.0), (10_f64.sqrt(), 2.0), (50_f64.sqrt(), 5.0)];
    let nearest = steps.iter().find(|&&(below, _)| mantissa < below);
    nearest.map_or(10.0, |&(_, nice)| nice) * power
}

/// Exponent of the power of ten just below a positive value.
#[expect(clippy::cast_possible_truncation, reason = "the logarithm of an f64 is within ±324")]
fn order(value: f64) -> i32 {
    value.log10().floor() as i32
}
