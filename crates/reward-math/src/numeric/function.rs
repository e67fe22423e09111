//! Enclosures of elementary functions.

use dashu::Integer;
use dashu::float::round::mode::Down;
use dashu::float::{Context, Repr};

use super::real::{Arithmetic, Failure, Real, Result, Rounded, between, end, negated};

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
        between(self.down.exp(&value.low, None), self.up.exp(&value.high, None))
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
        between(self.down.ln(&value.low, None), self.up.ln(&value.high, None))
    }

    pub(super) fn pi(&mut self) -> Result<Real> {
        self.spend_on_function(20)?;
        between(Ok(self.down.pi::<2>(None)), Ok(self.up.pi::<2>(None)))
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
        self.by_slope(value, |context, x| context.sin(x, None))
    }

    pub(super) fn cosine(&mut self, value: &Real) -> Result<Real> {
        if self.is_tiny(value) {
            return Ok(self.nearly_one());
        }
        self.by_slope(value, |context, x| context.cos(x, None))
    }

    /// Encloses a function of slope at most 1: its value at the lower end, widened by the width of the interval.
    fn by_slope(
        &mut self,
        value: &Real,
        function: impl Fn(&Context<Down>, &Repr<2>) -> Rounded<Down>,
    ) -> Result<Real> {
        self.spend_on_function(60)?;
        if value.size() > LARGEST_REDUCED {
            return Err(Failure::TooLarge);
        }
        let width = end(self.up.sub(&value.high, &value.low))?;
        // The lower value is rounded down by less than one unit of its last place, at most 2^(1 - bits).
        let unit = Repr::new(Integer::ONE, 1 - isize::try_from(self.bits).unwrap_or(isize::MAX));
        let slack = end(self.up.add(&width, &unit))?;
        let at_low = end(function(&self.down, &value.low))?;
        let one = Repr::<2>::one();
        let low = end(self.down.sub(&at_low, &slack))?.max(negated(&one));
        let high = end(self.up.add(&at_low, &slack))?.min(one);
        Ok(Real { low, high })
    }

    pub(super) fn arc_tangent(&mut self, value: &Real) -> Result<Real> {
        if let Some(same) = self.identity(value) {
            return same;
        }
        self.spend_on_function(80)?;
        between(self.down.atan(&value.low, None), self.up.atan(&value.high, None))
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
        between(self.down.asin(&low, None), self.up.asin(&high, None))
    }
}
