//! Sums between two integers.

use dashu::Rational;

use super::{Algebra, Fraction, Result};
use crate::expression::Expression;

/// Most terms that are added one by one.
const MOST_TERMS: i64 = 512;

impl Algebra {
    /// Returns the value of `\sum_{k=0}^{2024} 3^k` or `\sum_{k=1}^{100} k^2`; `None` if an end is no integer, or the
    /// terms hold other names or functions.
    pub(super) fn series(&mut self, name: &str, parts: &[Expression]) -> Result<Option<Fraction>> {
        let [Expression::Symbol(index), low, high, body] = parts else { return Ok(None) };
        let plain = body.variables().iter().all(|name| name == index)
            && !body.any(&|part| matches!(part, Expression::Function(..) | Expression::Root(..)));
        if name != "sum" || !plain {
            return Ok(None);
        }
        let (Some(low), Some(high)) = (self.integer(low)?, self.integer(high)?) else {
            return Ok(None);
        };
        let count = high.checked_sub(low).filter(|count| *count >= 0 && high < i64::MAX);
        let Some(count) = count else { return Ok(None) };
        let term = |algebra: &mut Self, place| {
            let here = body.with(index, &Expression::integer(place));
            Ok(algebra.normalise(&here)?.as_constant())
        };
        if is_geometric(body, index) {
            let Some(first) = term(self, low)?.filter(|first| !first.is_zero()) else {
                return Ok(None);
            };
            let (Some(second), Some(behind)) = (term(self, low + 1)?, term(self, high + 1)?) else {
                return Ok(None);
            };
            // The sum is (a rⁿ - a)/(r - 1), with `a rⁿ` behind its last term.
            let ratio = second / &first;
            return Ok((ratio != Rational::ONE)
                .then(|| Fraction::constant((behind - first) / (ratio - Rational::ONE))));
        }
        if count >= MOST_TERMS {
            return Ok(None);
        }
        let mut sum = Rational::ZERO;
        for place in low..=high {
            let Some(term) = term(self, place)? else { return Ok(None) };
            self.spend_on(&sum, &term)?;
            sum += term;
        }
        Ok(Some(Fraction::constant(sum)))
    }

    fn integer(&mut self, end: &Expression) -> Result<Option<i64>> {
        let value = self.normalise(end)?.as_constant().filter(Rational::is_int);
        Ok(value.and_then(|value| i64::try_from(value.numerator()).ok()))
    }
}

/// Returns true for a constant times powers of constants with exponents that are linear in the index.
fn is_geometric(body: &Expression, index: &str) -> bool {
    match body {
        Expression::Power(base, exponent) => !base.holds(index) && is_linear(exponent, index),
        Expression::Product(factors) => factors.iter().all(|factor| is_geometric(factor, index)),
        Expression::Quotient(top, bottom) => {
            is_geometric(top, index) && is_geometric(bottom, index)
        }
        Expression::Negative(inner) => is_geometric(inner, index),
        other => !other.holds(index),
    }
}

fn is_linear(exponent: &Expression, index: &str) -> bool {
    match exponent {
        Expression::Symbol(_) => true,
        Expression::Sum(terms) => terms.iter().all(|term| is_linear(term, index)),
        Expression::Negative(inner) => is_linear(inner, index),
        Expression::Product(factors) => {
            factors.iter().filter(|factor| factor.holds(index)).count() <= 1
                && factors.iter().all(|factor| is_linear(factor, index))
        }
        Expression::Quotient(top, bottom) => is_linear(top, index) && !bottom.holds(index),
        other => !other.holds(index),
    }
}
