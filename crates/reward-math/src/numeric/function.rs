//! Enclosures of elementary functions.

use dashu::Integer;
use dashu::base::Approximation;
use dashu::float::round::mode::{Down, Up};
use dashu::float::{ConstCache, Context, Repr};

use super::real::{Arithmetic, Failure, Real, Result, Rounded, between, end, magnitude, negated};

/// A function of a number, rounded in one direction.
type Rule<R> = fn(&Context<R>, &Repr<2>, Option<&mut ConstCache>) -> Rounded<R>;

/// Most bits before the point of an argument of sine or cosine, or of an exponent of `exp`. Reducing a larger one by π
/// would need as many digits of π.
const LARGEST_REDUCED: isize = 256;

impl Arithmetic {
    pub(super) fn exp(&mut self, value: &Real) -> Result<Real> {
        self.spend_on_function(40)?;
        if self.is_tiny(value) {
            return Ok(self.nearly_one());
        }
        // Beyond this the result exceeds the largest supported number.
        if value.size() > 60 {
            return Err(Failure::TooLarge);
        }
        self.by_ends(value, Context::exp, Context::exp)
    }

    pub(super) fn logarithm(&mut self, value: &Real) -> Result<Real> {
        self.spend_on_function(40)?;
        if !value.is_positive() {
            return Err(match () {
                () if value.is_negative() => Failure::NotReal,
                () if value.is_exactly(0) => Failure::Undefined,
                () => Failure::Unclear,
            });
        }
        self.by_ends(value, Context::ln, Context::ln)
    }

    pub(super) fn pi(&mut self) -> Result<Real> {
        self.spend_on_function(4)?;
        let constants = &mut self.constants;
        between(Ok(self.down.pi::<2>(Some(constants))), Ok(self.up.pi::<2>(Some(constants))))
    }

    /// Returns true if every number of the interval is so near to 0 that `x` and `x + x²` agree at this precision.
    ///
    /// Correct rounding of a function of such a number would need as many digits as it has leading zeros.
    fn is_tiny(&self, value: &Real) -> bool {
        let bound = -isize::try_from(self.bits + 8).unwrap_or(isize::MAX);
        value.size() < bound && !value.is_exactly(0)
    }

    /// Returns the function of a number so near to 0 that it is the number itself, or `None` of any other.
    fn identity(&mut self, value: &Real) -> Option<Result<Real>> {
        self.is_tiny(value).then(|| self.multiply(value, &self.nearly_one()))
    }

    /// Returns 1 plus or minus one unit of the last place.
    fn nearly_one(&self) -> Real {
        let bits = isize::try_from(self.bits).unwrap_or(isize::MAX);
        let all = Integer::ONE << self.bits;
        Real {
            low: Repr::new(all.clone() - Integer::ONE, -bits),
            high: Repr::new(all + Integer::ONE, -bits),
        }
    }

    pub(super) fn sine(&mut self, value: &Real) -> Result<Real> {
        if let Some(same) = self.identity(value) {
            return same;
        }
        self.by_slope(value, Context::sin)
    }

    pub(super) fn cosine(&mut self, value: &Real) -> Result<Real> {
        if self.is_tiny(value) {
            return Ok(self.nearly_one());
        }
        self.by_slope(value, Context::cos)
    }

    /// Encloses a function of slope at most 1: its value at the lower end, widened by the width of the interval.
    fn by_slope(&mut self, value: &Real, function: Rule<Down>) -> Result<Real> {
        self.spend_on_function(60)?;
        if value.size() > LARGEST_REDUCED {
            return Err(Failure::TooLarge);
        }
        let width = end(self.up.sub(&value.high, &value.low))?;
        // The lower value is rounded down by less than one unit of its last place, at most 2^(1 - bits).
        let unit = Repr::new(Integer::ONE, 1 - isize::try_from(self.bits).unwrap_or(isize::MAX));
        let slack = end(self.up.add(&width, &unit))?;
        let at_low = end(function(&self.down, &value.low, Some(&mut self.constants)))?;
        let one = Repr::<2>::one();
        let low = end(self.down.sub(&at_low, &slack))?.max(negated(&one));
        let high = end(self.up.add(&at_low, &slack))?.min(one);
        Ok(Real { low, high })
    }

    /// Encloses an increasing function by its values at both ends.
    fn by_ends(&mut self, value: &Real, below: Rule<Down>, above: Rule<Up>) -> Result<Real> {
        let low = below(&self.down, &value.low, Some(&mut self.constants));
        if !value.is_exact() {
            return between(low, above(&self.up, &value.high, Some(&mut self.constants)));
        }
        let exact = matches!(low, Ok(Approximation::Exact(_)));
        let low = end(low)?;
        let unit = magnitude(&low).saturating_sub_unsigned(self.bits);
        let unit = if exact { Repr::zero() } else { Repr::new(Integer::ONE, unit) };
        Ok(Real { high: end(self.up.add(&low, &unit))?, low })
    }

    pub(super) fn arc_tangent(&mut self, value: &Real) -> Result<Real> {
        if let Some(same) = self.identity(value) {
            return same;
        }
        self.spend_on_function(80)?;
        self.by_ends(value, Context::atan, Context::atan)
    }

    pub(super) fn arc_sine(&mut self, value: &Real) -> Result<Real> {
        if let Some(same) = self.identity(value) {
            return same;
        }
        self.spend_on_function(80)?;
        let one = Repr::<2>::one();
        let minus_one = negated(&one);
        if value.high < minus_one || value.low > one {
            return Err(Failure::NotReal);
        }
        // An end outside of the domain by rounding only is replaced by the end of the domain.
        let low = value.low.clone().max(minus_one);
        let high = value.high.clone().min(one);
        self.by_ends(&Real { low, high }, Context::asin, Context::asin)
    }
}
