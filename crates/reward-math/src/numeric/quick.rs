//! A first look in double precision: most pairs of different values are told apart for a hundredth of the work.
//!
//! It never proves anything. A difference it sees is one that [`super::compare`] proves at its first point, when evidence
//! is wanted; what it does not see is decided there.

use std::f64::consts::{E, PI};

use crate::expression::Expression;

/// Relative error of an operation, with room for functions that are a few units of the last place off.
const ROUNDING: f64 = 1e-15;

/// Two values are apart if so many bounds of their errors lie between them.
const MARGIN: f64 = 16.0;

/// Smallest number of error bounds in a value that is divided by, or of which a logarithm or root is taken.
const CERTAIN: f64 = 100.0;

/// Integers below this are exact, and so are sums and products of them that are below it.
const LARGEST_INTEGER: f64 = 1e9;

/// Largest argument of sine and cosine: beyond it the argument's own error counts more.
const LARGEST_ANGLE: f64 = 1e6;

/// A real value, and a bound of its error.
#[derive(Clone, Copy)]
struct Near {
    value: f64,
    error: f64,
}

/// Returns true if two expressions certainly have other values at a point.
pub(super) fn apart(left: &Expression, right: &Expression, point: &[(&str, f64)]) -> bool {
    let (Some(a), Some(b)) = (value(left, point), value(right, point)) else { return false };
    let distance = (a.value - b.value).abs();
    distance.is_finite() && distance > MARGIN * (a.error + b.error)
}

/// Returns a value; `None` for what is not real, not certain enough, or rarer than this is worth.
fn value(expression: &Expression, point: &[(&str, f64)]) -> Option<Near> {
    let near = |part: &Expression| value(part, point);
    let result = match expression {
        Expression::Number(number) => Near::calculated(number.to_f64_fast(), number.is_int()),
        Expression::Symbol(name) => match point.iter().find(|(known, _)| known == name) {
            Some((_, coordinate)) => Near::exact(*coordinate),
            None => Near::rounded(constant(name)?),
        },
        Expression::Sum(items) => {
            items.iter().try_fold(Near::exact(0.0), |sum, item| Some(sum.plus(near(item)?)))?
        }
        Expression::Product(items) => items
            .iter()
            .try_fold(Near::exact(1.0), |product, item| Some(product.times(near(item)?)))?,
        Expression::Negative(inner) => near(inner)?.times(Near::exact(-1.0)),
        Expression::Quotient(top, bottom) => near(top)?.over(near(bottom)?)?,
        Expression::Power(base, exponent) => {
            let (base, exponent) = (near(base)?, near(exponent)?);
            if exponent.is_small_integer() {
                base.to_integer(exponent.value)?
            } else {
                exponent.times(base.logarithm()?).exponential()?
            }
        }
        Expression::Root(radicand, index) => {
            let part = Near::exact(1.0).over(Near::exact(f64::from(*index)))?;
            near(radicand)?.logarithm()?.times(part).exponential()?
        }
        Expression::Function(name, parts) => {
            let [argument] = parts.as_slice() else {
                let ("logarithm", [base, argument]) = (name.as_str(), parts.as_slice()) else {
                    return None;
                };
                return near(argument)?.logarithm()?.over(near(base)?.logarithm()?);
            };
            function(name, near(argument)?)?
        }
    };
    (result.value.is_finite() && result.error.is_finite()).then_some(result)
}

fn constant(name: &str) -> Option<f64> {
    match name {
        "\\pi" => Some(PI),
        "e" => Some(E),
        _ => None,
    }
}

fn function(name: &str, x: Near) -> Option<Near> {
    let one = Near::exact(1.0);
    // Neither function rises or falls faster than its argument.
    let wave = |wave: fn(f64) -> f64| {
        let certain = x.value.abs() < LARGEST_ANGLE;
        certain.then(|| Near { error: x.error + 4.0 * ROUNDING, ..Near::exact(wave(x.value)) })
    };
    let (sine, cosine) = (|| wave(f64::sin), || wave(f64::cos));
    match name {
        "ln" => x.logarithm(),
        "log" => x.logarithm()?.over(Near::exact(10.0).logarithm()?),
        "degrees" => Some(x.times(Near::rounded(PI / 180.0))),
        "sin" => sine(),
        "cos" => cosine(),
        "tan" => sine()?.over(cosine()?),
        "cot" => cosine()?.over(sine()?),
        "sec" => one.over(cosine()?),
        "csc" => one.over(sine()?),
        "arctan" => Some(Near { error: x.error + 4.0 * ROUNDING, ..Near::exact(x.value.atan()) }),
        "factorial" => {
            let certain = x.is_small_integer() && (0.0..=100.0).contains(&x.value);
            let factors = (1..=100).map(f64::from).take_while(|factor| *factor <= x.value);
            certain.then(|| factors.map(Near::exact).fold(one, Near::times))
        }
        _ => None,
    }
}

impl Near {
    fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    fn rounded(value: f64) -> Self {
        Self { value, error: ROUNDING * value.abs() }
    }

    /// Returns a value that is exact if it is an integer of integers, and small enough.
    fn calculated(value: f64, of_integers: bool) -> Self {
        let near = Self::exact(value);
        if of_integers && near.is_small_integer() { near } else { Self::rounded(value) }
    }

    fn is_small_integer(self) -> bool {
        self.error == 0.0 && self.value.abs() < LARGEST_INTEGER && self.value.fract() == 0.0
    }

    fn plus(self, other: Self) -> Self {
        let of_integers = self.is_small_integer() && other.is_small_integer();
        let sum = Self::calculated(self.value + other.value, of_integers);
        Self { error: sum.error + self.error + other.error, ..sum }
    }

    fn times(self, other: Self) -> Self {
        let (size, other_size) = (self.value.abs(), other.value.abs());
        let of_integers = self.is_small_integer() && other.is_small_integer();
        let product = Self::calculated(self.value * other.value, of_integers);
        let error = size * other.error + (other_size + other.error) * self.error;
        Self { error: product.error + error, ..product }
    }

    fn is_certain(self) -> bool {
        self.value.abs() > CERTAIN * self.error
    }

    fn over(self, other: Self) -> Option<Self> {
        let quotient = Self::rounded(self.value / other.value);
        let error = (self.error + quotient.value.abs() * other.error) / other.value.abs();
        other.is_certain().then_some(Self { error: quotient.error + 2.0 * error, ..quotient })
    }

    /// Returns a power of which the factors' errors add up to little.
    fn to_integer(self, exponent: f64) -> Option<Self> {
        let power = Self::exact(self.value.powf(exponent));
        let relative = (self.error / self.value.abs() + ROUNDING) * (exponent.abs() + 1.0);
        (self.value != 0.0 && relative < 1.0 / CERTAIN)
            .then_some(Self { error: 2.0 * relative * power.value.abs(), ..power })
    }

    fn logarithm(self) -> Option<Self> {
        let logarithm = Self::rounded(self.value.ln());
        let error = 2.0 * self.error / self.value + ROUNDING;
        (self.value > 0.0 && self.is_certain())
            .then_some(Self { error: logarithm.error + error, ..logarithm })
    }

    fn exponential(self) -> Option<Self> {
        let power = Self::exact(self.value.exp());
        let relative = 2.0 * self.error + 4.0 * ROUNDING;
        (relative < 1.0 / CERTAIN).then_some(Self { error: relative * power.value, ..power })
    }
}
