//! Enclosures of elementary functions.

use dashu::Integer;
use dashu::float::Repr;

use super::elementary::{arc_tangent, cosine_and_sine, exp, logarithm};
use super::real::{Arithmetic, Failure, Real, Result, between, end, magnitude, negated};

/// Most bits before the point of an argument of sine or cosine, or of an exponent of `exp`. Reducing a larger one by π
/// would need as many digits of π.
const LARGEST_REDUCED: isize = 256;
/// Most bits before the point of a tangent whose angle is not that of its inverse.
const LARGEST_TANGENT: isize = 20;

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
        self.by_ends(value, |field, x| Ok(exp(x, field.bits)))
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
        self.by_ends(value, |field, x| logarithm(x, field.bits))
    }

    pub(super) fn pi(&mut self) -> Result<Real> {
        self.spend_on_function(4)?;
        let constants = &mut self.constants;
        between(Ok(self.down.pi::<2>(Some(constants))), Ok(self.up.pi::<2>(Some(constants))))
    }

    /// Returns true if every number of the interval is so near to 0 that `x` and `x + x²` agree at this precision.
    ///
    /// A series at such a number would need as many digits as it has leading zeros.
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
        let [_, sine] = self.cosine_and_sine(value)?;
        Ok(sine)
    }

    pub(super) fn cosine(&mut self, value: &Real) -> Result<Real> {
        if self.is_tiny(value) {
            return Ok(self.nearly_one());
        }
        let [cosine, _] = self.cosine_and_sine(value)?;
        Ok(cosine)
    }

    /// Encloses functions of slope at most 1: their values at the lower end, widened by the width of the interval.
    fn cosine_and_sine(&mut self, value: &Real) -> Result<[Real; 2]> {
        self.spend_on_function(60)?;
        if value.size() > LARGEST_REDUCED {
            return Err(Failure::TooLarge);
        }
        let slack = end(self.up.sub(&value.high, &value.low))?;
        let one = Repr::<2>::one();
        let [across, up] = cosine_and_sine(&value.low, self.bits).map(|Real { low, high }| {
            let low = end(self.down.sub(&low, &slack))?.max(negated(&one));
            Ok(Real { low, high: end(self.up.add(&high, &slack))?.min(one.clone()) })
        });
        Ok([across?, up?])
    }

    /// Encloses an increasing function by its values at both ends.
    fn by_ends(
        &mut self,
        value: &Real,
        function: impl Fn(&mut Self, &Repr<2>) -> Result<Real>,
    ) -> Result<Real> {
        let low = function(self, &value.low)?;
        let high = if value.is_exact() { low.high } else { function(self, &value.high)?.high };
        self.rounded(&Real { low: low.low, high })
    }

    pub(super) fn arc_tangent(&mut self, value: &Real) -> Result<Real> {
        if let Some(same) = self.identity(value) {
            return same;
        }
        self.spend_on_function(80)?;
        self.angle(value)
    }

    /// Returns the angle of a tangent.
    fn angle(&mut self, tangent: &Real) -> Result<Real> {
        self.by_ends(tangent, |field, x| {
            if magnitude(x) <= LARGEST_TANGENT {
                return arc_tangent(x, field.bits);
            }
            // The inverse of a tangent is that of what the angle lacks to a right one.
            let inverse = field.divide(&Real::from(1), &Real::exactly(x.clone()))?;
            let (rest, quarter) = (field.angle(&inverse)?, field.pi()?.shifted(-1));
            let quarter = if inverse.is_negative() { quarter.negated() } else { quarter };
            field.subtract(&quarter, &rest)
        })
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
        self.by_ends(&Real { low, high }, |field, x| {
            let (one, x) = (Real::from(1), Real::exactly(x.clone()));
            let (above, below) = (field.add(&one, &x)?, field.subtract(&one, &x)?);
            let square = field.multiply(&above, &below)?;
            if square.is_exactly(0) {
                let quarter = field.pi()?.shifted(-1);
                return Ok(if x.is_negative() { quarter.negated() } else { quarter });
            }
            let root = field.root(&square, 2)?;
            let tangent = field.divide(&x, &root)?;
            field.angle(&tangent)
        })
    }
}
