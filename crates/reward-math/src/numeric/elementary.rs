//! Elementary functions of an exact number, in integers of a unit `2^-bits` and a bound of their error in such units.
//!
//! A series near 0 and squares, or a first guess, lead to the result. The guess is the `f64` value `y`, taken as exact:
//! `ln x = y + ln(x e^-y)` and `arctan x = y + arctan u`, where `u` is the tangent of a difference of angles. How good it
//! is decides the work, not the result.

use dashu::Integer;
use dashu::base::BitTest;
use dashu::float::Repr;

use super::real::{Failure, Real, Result, magnitude};

/// Bits of a working precision beyond those of the result.
const GUARD: usize = 32;
/// Position of the leading bit below which a series needs no guess before it.
const NEAR: isize = -20;

/// An integer in units of `2^-bits` and a bound of its error.
struct Fixed {
    value: Integer,
    error: Integer,
    bits: isize,
}

impl Fixed {
    /// Returns the number, rounded down, at so many bits.
    fn new(x: &Repr<2>, bits: usize) -> Self {
        let bits = bits.cast_signed();
        let place = x.exponent().saturating_add(bits);
        Self { value: shifted(x.significand(), place), error: Integer::ONE, bits }
    }

    fn into_real(self) -> Real {
        let end = |value| Repr::new(value, -self.bits);
        Real { low: end(&self.value - &self.error), high: end(self.value + self.error) }
    }
}

/// Returns `value * 2^power`, rounded down.
fn shifted(value: &Integer, power: isize) -> Integer {
    match usize::try_from(power) {
        Ok(up) => value << up,
        Err(_) => value >> power.unsigned_abs(),
    }
}

/// Returns `e^x`.
pub(super) fn exp(x: &Repr<2>, bits: usize) -> Real {
    power_of_e(x, bits).into_real()
}

/// Returns `e^x` in units of its last place: the series at `x / 2^k`, squared `k` times.
fn power_of_e(x: &Repr<2>, bits: usize) -> Fixed {
    let halvings = halvings(x, bits);
    let precision = bits + GUARD + 2 * halvings;
    let (sums, mut error) = terms(x, halvings, precision);
    let (mut value, mut bits) = (sums.iter().sum::<Integer>(), precision.cast_signed());
    for _ in 0..halvings {
        // Of the digits of a square the first are kept. Its error is less than 3 times that of a factor, and a rounding.
        let square = &value * &value;
        let more = square.bit_len() - precision;
        value = square >> more;
        bits = 2 * bits - more.cast_signed();
        error = error * 3 + 2;
    }
    Fixed { value, error, bits }
}

/// Returns `cos x` and `sin x`.
pub(super) fn cosine_and_sine(x: &Repr<2>, bits: usize) -> [Real; 2] {
    turn(x, bits).map(Fixed::into_real)
}

/// Returns both parts of `e^(ix)`: the series at `x / 2^k`, squared `k` times.
fn turn(x: &Repr<2>, bits: usize) -> [Fixed; 2] {
    let halvings = halvings(x, bits);
    let bits = bits + GUARD + 2 * halvings;
    let (sums, mut error) = terms(x, halvings, bits);
    let (mut across, mut up) = (&sums[0] - &sums[2], &sums[1] - &sums[3]);
    for _ in 0..halvings {
        let square = ((&across + &up) * (&across - &up)) >> bits;
        up = (across * up) >> (bits - 1);
        across = square;
        // Less than 3 times the error, as neither part exceeds 1, and a rounding.
        error = error * 3 + 2;
    }
    [across, up].map(|value| Fixed { value, error: error.clone(), bits: bits.cast_signed() })
}

/// Returns `ln x` of a positive number.
pub(super) fn logarithm(x: &Repr<2>, bits: usize) -> Result<Real> {
    let place = magnitude(x);
    if place.abs() <= 1 {
        let one = shifted(&Integer::ONE, -x.exponent());
        let away = Repr::new(x.significand() - one, x.exponent());
        if away.significand().is_zero() {
            return Ok(Real::from(0));
        }
        if magnitude(&away) < NEAR {
            let bits = relative(&away, bits);
            return Ok(area(&Fixed::new(&away, bits).value, bits, 1)?.into_real());
        }
    }
    // The leading digits are a number from 1/2 to 1, so that `f64` holds it.
    let leading = Repr::<2>::new(x.significand().clone(), x.exponent() - place).to_f64().value();
    #[expect(clippy::cast_precision_loss, reason = "a guess")]
    let guess = exact(leading.ln() + place as f64 * std::f64::consts::LN_2)?;
    let bits = bits + GUARD;
    let inverse = power_of_e(&Repr::new(-guess.significand(), guess.exponent()), bits);
    let power = x.exponent() - inverse.bits + bits.cast_signed();
    let away = shifted(&(x.significand() * inverse.value), power) - (Integer::ONE << bits);
    // The inverse has so many more bits that its error is below 1.
    let mut rest = area(&away, bits, 2)?;
    rest.value += Fixed::new(&guess, bits).value;
    Ok(rest.into_real())
}

/// Returns `arctan x` of a number below `2^20`.
pub(super) fn arc_tangent(x: &Repr<2>, bits: usize) -> Result<Real> {
    if magnitude(x) < NEAR {
        let bits = relative(x, bits);
        return Ok(odd_series(&Fixed::new(x, bits).value, -1, bits, 1)?.into_real());
    }
    let guess = exact(x.to_f64().value().atan())?;
    let bits = bits + GUARD;
    let number = Fixed::new(x, bits).value;
    let [across, up] =
        turn(&guess, bits).map(|part| shifted(&part.value, bits.cast_signed() - part.bits));
    let top = ((&number * &across) >> bits) - &up;
    let bottom = across + ((number * up) >> bits);
    // Both have an error of less than 2 |x| + 4, and the one below is the square root of 1 + x².
    let mut rest = odd_series(&((top << bits) / bottom), -1, bits, 10)?;
    rest.value += Fixed::new(&guess, bits).value;
    Ok(rest.into_real())
}

fn exact(guess: f64) -> Result<Repr<2>> {
    Repr::try_from(guess).map_err(|_| Failure::TooLarge)
}

/// Returns the bits that a small number needs for as many digits as others have.
fn relative(x: &Repr<2>, bits: usize) -> usize {
    bits + GUARD + magnitude(x).unsigned_abs().min(2 * bits)
}

/// Returns how often `x` is halved before its series: as many squares then as the series has terms, about.
fn halvings(x: &Repr<2>, bits: usize) -> usize {
    magnitude(x).saturating_add_unsigned(bits.isqrt()).try_into().unwrap_or_default()
}

/// Returns the terms of the series of `e^t` at `t = x / 2^halvings`, as integers in units of `2^-bits`.
///
/// They are in four sums, by the number of the term modulo 4. The second result bounds the error of all of them.
fn terms(x: &Repr<2>, halvings: usize, bits: usize) -> ([Integer; 4], Integer) {
    let mut term = Integer::ONE << bits;
    let mut sums = [term.clone(), Integer::ZERO, Integer::ZERO, Integer::ZERO];
    if x.significand().is_zero() {
        return (sums, Integer::ZERO);
    }
    let t = Fixed::new(
        &Repr::new(x.significand().clone(), x.exponent() - halvings.cast_signed()),
        bits,
    );
    let mut count = 1_usize;
    loop {
        // Two roundings, that of `t`, and the error of the term before times `t / count`: below 4.
        term = ((term * &t.value) >> bits) / count;
        if term.is_zero() {
            // The terms left out are less than the last rounding.
            return (sums, Integer::from(4 * (count + 1)));
        }
        sums[count % 4] += &term;
        count += 1;
    }
}

/// Returns `ln(1 + x) = 2 artanh(x / (2 + x))` of a small number.
fn area(x: &Integer, bits: usize, error: u64) -> Result<Fixed> {
    let argument = (x << bits) / (x + (Integer::ONE << (bits + 1)));
    let half = odd_series(&argument, 1, bits, error + 1)?;
    Ok(Fixed { value: half.value * 2, error: half.error * 2, ..half })
}

/// Returns `u ± u³/3 + u⁵/5 ± …` of a number with this error: `artanh u` for the sign 1, `arctan u` for -1.
fn odd_series(u: &Integer, sign: i64, bits: usize, error: u64) -> Result<Fixed> {
    // Below 1/4 no slope exceeds 16/15, and a term is less than a sixteenth of the one before.
    if Repr::<2>::new(u.clone(), 0).digits() + 2 > bits {
        return Err(Failure::Unclear);
    }
    let square = (u * u * sign) >> bits;
    let (mut power, mut value, mut index) = (u.clone(), u.clone(), 3_u64);
    loop {
        power = (power * &square) >> bits;
        let term = &power / index;
        if term.is_zero() {
            let error = Integer::from(2 * error + 2 * index);
            return Ok(Fixed { value, error, bits: bits.cast_signed() });
        }
        value += term;
        index += 2;
    }
}
