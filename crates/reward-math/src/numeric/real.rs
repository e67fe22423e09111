//! Enclosures of real numbers: intervals with ends rounded outwards, so that they contain the true value.

use dashu::base::{Approximation, BitTest, Sign};
use dashu::float::round::mode::{Down, Up};
use dashu::float::round::{Round, Rounding};
use dashu::float::{ConstCache, Context, FBig, FpError, Repr};
use dashu::{Integer, Rational};

use crate::power::power;

/// Reason why an enclosure could not be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The value does not exist.
    Undefined,
    /// The real value does not exist; a complex one may.
    NotReal,
    /// The value exceeds the supported numbers.
    TooLarge,
    /// The enclosure is too wide to decide at this precision.
    Unclear,
    /// A function or symbol without a known value.
    Unknown,
    /// A value on which conventions differ: a root of odd index of a negative number.
    Ambiguous,
    /// The work exceeded its limit.
    OutOfFuel,
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Largest index of a root that is computed digit by digit.
const LARGEST_INDEX: u32 = 16;
/// Largest binary exponent of a supported number.
const LARGEST_EXPONENT: isize = 1 << 48;

/// An interval that contains a real number.
#[derive(Debug, Clone)]
pub(super) struct Real {
    pub(super) low: Repr<2>,
    pub(super) high: Repr<2>,
}

/// Interval arithmetic at one precision, with its remaining fuel.
pub(super) struct Arithmetic {
    pub(super) down: Context<Down>,
    pub(super) up: Context<Up>,
    pub(super) bits: usize,
    /// Digits of π, calculated once.
    pub(super) constants: ConstCache,
    /// Remaining fuel, in limbs of arithmetic.
    pub(super) fuel: u64,
    /// True if a part that is not real makes the value undefined.
    pub(super) only_real: bool,
    /// True if a function that is not analytic on its argument makes the value unclear.
    pub(super) analytic: bool,
    /// Widest gap between the leading bits of two numbers that were added: the bits that a sum needed to hold both of
    /// its terms. Beyond the precision the smaller term has no effect.
    pub(super) spread: usize,
    /// Position of the leading bit below which the absolute width of an enclosure counts.
    pub(super) least: isize,
}

impl From<i64> for Real {
    fn from(value: i64) -> Self {
        Self::exactly(Repr::new(Integer::from(value), 0))
    }
}

impl Real {
    /// Returns the interval that holds only this number.
    pub(super) fn exactly(value: Repr<2>) -> Self {
        Self { low: value.clone(), high: value }
    }

    /// Returns true if the interval holds only `value`.
    pub(super) fn is_exactly(&self, value: i64) -> bool {
        self.low == self.high && self.low == Repr::new(Integer::from(value), 0)
    }

    /// Returns true if the interval is one number.
    pub(super) fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Returns the number of bits before the point, 0 for numbers below 1.
    pub(super) fn bits_before_point(&self) -> usize {
        usize::try_from(self.size()).unwrap_or_default()
    }

    /// Returns the position of the leading bit of the larger end.
    pub(super) fn size(&self) -> isize {
        magnitude(&self.low).max(magnitude(&self.high))
    }

    pub(super) fn is_positive(&self) -> bool {
        is_positive(&self.low)
    }

    pub(super) fn is_negative(&self) -> bool {
        is_negative(&self.high)
    }

    pub(super) fn holds_zero(&self) -> bool {
        !self.is_positive() && !self.is_negative()
    }

    /// Returns true if every number of this interval is below every number of the other.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        self.high < other.low
    }

    /// Returns true if no number lies in both.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        self.is_below(other) || other.is_below(self)
    }

    /// Returns the integer, if the interval is one.
    pub(super) fn integer(&self) -> Option<Integer> {
        if self.low != self.high || self.low.exponent() > 1 << 16 {
            return None;
        }
        let exponent = self.low.exponent();
        (exponent >= 0 || self.low.significand().is_zero())
            .then(|| self.low.significand() << usize::try_from(exponent.max(0)).unwrap_or_default())
    }

    pub(super) fn absolute(&self) -> Self {
        if self.is_negative() {
            return self.negated();
        }
        if self.holds_zero() {
            let high = self.high.clone().max(negated(&self.low));
            return Self { low: Repr::zero(), high };
        }
        self.clone()
    }

    /// Returns the least interval that contains both.
    pub(super) fn hull(&self, other: &Self) -> Self {
        Self {
            low: self.low.clone().min(other.low.clone()),
            high: self.high.clone().max(other.high.clone()),
        }
    }

    /// Returns the interval of all numbers that are at most as far from 0.
    pub(super) fn both_signs(&self) -> Self {
        let high = self.absolute().high;
        Self { low: negated(&high), high }
    }

    /// Returns the interval times `2^power`, exactly.
    pub(super) fn shifted(&self, power: isize) -> Self {
        let shift = |end: &Repr<2>| {
            Repr::new(end.significand().clone(), end.exponent().saturating_add(power))
        };
        Self { low: shift(&self.low), high: shift(&self.high) }
    }

    /// Returns both ends, exactly: `-5*2^-3`.
    pub(super) fn ends(&self) -> [String; 2] {
        [&self.low, &self.high].map(|end| format!("{}*2^{}", end.significand(), end.exponent()))
    }

    pub(super) fn negated(&self) -> Self {
        Self { low: negated(&self.high), high: negated(&self.low) }
    }
}

// A zero may have a sign.
fn is_positive(value: &Repr<2>) -> bool {
    !value.significand().is_zero() && value.sign() == Sign::Positive
}

fn is_negative(value: &Repr<2>) -> bool {
    !value.significand().is_zero() && value.sign() == Sign::Negative
}

pub(super) fn negated(value: &Repr<2>) -> Repr<2> {
    Repr::new(-value.significand(), value.exponent())
}

/// Returns the position of the leading bit of a number other than 0: `2^(m-1) ≤ |x| < 2^m`.
pub(super) fn magnitude(value: &Repr<2>) -> isize {
    if value.significand().is_zero() {
        return isize::MIN / 2;
    }
    value.exponent().saturating_add(isize::try_from(value.digits()).unwrap_or(isize::MAX / 4))
}

/// Result of a rounded operation.
pub(super) type Rounded<R> = std::result::Result<Approximation<FBig<R, 2>, Rounding>, FpError>;

/// Returns the interval between two results.
pub(super) fn between(low: Rounded<Down>, high: Rounded<Up>) -> Result<Real> {
    Ok(Real { low: end(low)?, high: end(high)? })
}

/// Returns the end of an interval, or a failure if it is too large.
pub(super) fn end<R: Round>(result: Rounded<R>) -> Result<Repr<2>> {
    match result {
        Ok(value) => {
            let repr = value.value().into_repr();
            if repr.is_infinite() {
                return Err(Failure::Undefined);
            }
            // A negative 0 has no root.
            if repr.significand().is_zero() {
                return Ok(Repr::zero());
            }
            if magnitude(&repr).abs() > LARGEST_EXPONENT {
                return Err(Failure::TooLarge);
            }
            Ok(repr)
        }
        Err(FpError::OutOfDomain | FpError::Indeterminate | FpError::InfiniteInput) => {
            Err(Failure::Undefined)
        }
        Err(_) => Err(Failure::TooLarge),
    }
}

impl Arithmetic {
    pub(super) fn new(bits: usize, fuel: u64) -> Self {
        Self {
            down: Context::new(bits),
            up: Context::new(bits),
            bits,
            constants: ConstCache::new(),
            fuel,
            only_real: false,
            analytic: false,
            spread: 0,
            least: -64,
        }
    }

    /// Pays for `operations` of arithmetic at this precision.
    pub(super) fn spend(&mut self, operations: u64) -> Result<()> {
        // An operation costs a few limbs at any precision.
        let limbs = (self.bits as u64).div_ceil(64) + 2;
        self.fuel =
            self.fuel.checked_sub(operations.saturating_mul(limbs)).ok_or(Failure::OutOfFuel)?;
        Ok(())
    }

    /// Pays for a function as for so many operations: series and reductions grow faster than the digits.
    pub(super) fn spend_on_function(&mut self, operations: u64) -> Result<()> {
        self.spend(operations * 5 * (1 + self.bits as u64 / 384))
    }

    pub(super) fn rational(&mut self, value: &Rational) -> Result<Real> {
        let top = self.integer(value.numerator())?;
        if value.is_int() {
            return Ok(top);
        }
        let bottom = self.integer(value.denominator().as_ibig())?;
        self.divide(&top, &bottom)
    }

    /// Returns an enclosure that holds only the integer.
    pub(super) fn integer(&mut self, value: &Integer) -> Result<Real> {
        self.spend(1 + value.bit_len() as u64 / 1024)?;
        Ok(Real::exactly(Repr::new(value.clone(), 0)))
    }

    pub(super) fn add(&mut self, a: &Real, b: &Real) -> Result<Real> {
        self.spend(1)?;
        // Around 0 no bit leads, and what cancelled there was counted.
        if !a.holds_zero() && !b.holds_zero() {
            self.spread = self.spread.max(a.size().abs_diff(b.size()));
        }
        between(self.down.add(&a.low, &b.low), self.up.add(&a.high, &b.high))
    }

    pub(super) fn subtract(&mut self, a: &Real, b: &Real) -> Result<Real> {
        self.add(a, &b.negated())
    }

    pub(super) fn multiply(&mut self, a: &Real, b: &Real) -> Result<Real> {
        self.spend(2)?;
        // Two positive intervals: lower ends and upper ends multiply.
        if !is_negative(&a.low) && !is_negative(&b.low) {
            return between(self.down.mul(&a.low, &b.low), self.up.mul(&a.high, &b.high));
        }
        let product = |x, y| between(self.down.mul(x, y), self.up.mul(x, y));
        let mut hull = product(&a.low, &b.low)?;
        for (x, y) in [(&a.low, &b.high), (&a.high, &b.low), (&a.high, &b.high)] {
            hull = hull.hull(&product(x, y)?);
        }
        Ok(hull)
    }

    pub(super) fn divide(&mut self, a: &Real, b: &Real) -> Result<Real> {
        self.spend(3)?;
        if b.holds_zero() {
            return Err(if b.is_exactly(0) { Failure::Undefined } else { Failure::Unclear });
        }
        // `6/3` under a floor is an integer.
        if let (Some(top), Some(bottom)) = (a.integer(), b.integer())
            && (&top % &bottom).is_zero()
        {
            return self.integer(&(top / bottom));
        }
        // Both ends of `b` have one sign, so the ends of its reciprocal are exchanged.
        let one = Repr::<2>::one();
        let inverse = between(self.down.div(&one, &b.high), self.up.div(&one, &b.low))?;
        self.multiply(a, &inverse)
    }

    /// Returns `value^power` by repeated squaring.
    pub(super) fn power(&mut self, value: &Real, exponent: u64) -> Result<Real> {
        let result = power(self, value.clone(), exponent, Self::multiply, Self::square)?;
        Ok(result.unwrap_or_else(|| Real::from(1)))
    }

    /// Returns the square, which is never negative, even if the interval contains 0.
    fn square(&mut self, value: &Real) -> Result<Real> {
        let product = self.multiply(value, value)?;
        if value.holds_zero() {
            return Ok(Real { low: Repr::zero(), high: product.high });
        }
        Ok(product)
    }

    /// Returns the real root; a negative number has one only if the index is odd.
    pub(super) fn root(&mut self, value: &Real, index: u32) -> Result<Real> {
        self.spend(8)?;
        if index == 0 {
            return Err(Failure::Undefined);
        }
        // The work of a root grows with its index: a large index is computed by logarithms.
        if index > LARGEST_INDEX && value.is_positive() {
            let logarithm = self.logarithm(value)?;
            let exponent = self.divide(&logarithm, &Real::from(i64::from(index)))?;
            return self.exp(&exponent);
        }
        if is_negative(&value.low) && index.is_multiple_of(2) {
            return Err(if value.is_negative() { Failure::NotReal } else { Failure::Unclear });
        }
        if value.is_negative() {
            return Ok(self.root(&value.negated(), index)?.negated());
        }
        if is_negative(&value.low) {
            return Err(Failure::Unclear);
        }
        if index == 2 {
            return between(self.down.sqrt(&value.low), self.up.sqrt(&value.high));
        }
        let index = index as usize;
        between(self.down.nth_root(index, &value.low), self.up.nth_root(index, &value.high))
    }

    /// Returns an interval of longer numbers, rounded outwards.
    pub(super) fn rounded(&self, value: &Real) -> Result<Real> {
        let one = Repr::<2>::one();
        between(self.down.mul(&value.low, &one), self.up.mul(&value.high, &one))
    }

    /// Returns the floor; unclear if an integer lies inside the interval.
    pub(super) fn floor(&mut self, value: &Real) -> Result<Real> {
        self.spend(2)?;
        if value.size() > 1 << 14 {
            return Err(Failure::TooLarge);
        }
        let floor = |end: &Repr<2>| {
            FBig::<Down, 2>::from_repr(end.clone(), Context::new(0)).floor().into_repr()
        };
        let (low, high) = (floor(&value.low), floor(&value.high));
        if low == high { Ok(Real { low, high }) } else { Err(Failure::Unclear) }
    }

    /// Returns true if two overlapping enclosures are narrow: both within `2^-(bits / 2)` of the larger one's size.
    pub(super) fn are_narrow(&mut self, a: &Real, b: &Real) -> Result<bool> {
        let half = isize::try_from(self.bits / 2).unwrap_or(isize::MAX);
        let scale = [&a.low, &a.high, &b.low, &b.high].into_iter().map(magnitude).max();
        // Near 0 there is no relative width.
        let scale = scale.unwrap_or_default().max(self.least);
        for value in [a, b] {
            let width = end(self.up.sub(&value.high, &value.low))?;
            if !width.significand().is_zero() && magnitude(&width) > scale.saturating_sub(half) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
