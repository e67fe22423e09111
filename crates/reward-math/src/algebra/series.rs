//! Sums between two integers.

use dashu::Rational;

use super::{Algebra, Fraction, Result};
use crate::expression::Expression;

/// Most terms that are added one by one.
const MOST_TERMS: i64 = 512;

/// Fuel of the normal form of the quotient of two terms.
const RATIO_FUEL: u64 = 1000;

/// Fuel of the normal form of a step from one argument of a factorial to the next.
const STEP_FUEL: u64 = 20_000;

impl Algebra {
    /// Returns the value of `\sum_{k=1}^{100} k^2`; `None` if an end is no integer, or a term holds other names or functions.
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
            Ok(algebra.normalise(&body.with(index, &Expression::integer(place)))?.as_constant())
        };
        // Neighbouring terms of a geometric series have one quotient.
        let mut algebra = Self::new(RATIO_FUEL);
        let ratio = neighbours(body, index);
        let ratio = ratio.and_then(|ratio| algebra.normalise(&ratio).ok()?.as_constant());
        self.spend(RATIO_FUEL - algebra.fuel)?;
        if let Some(ratio) = ratio {
            let (Some(first), Some(behind)) = (term(self, low)?, term(self, high + 1)?) else {
                return Ok(None);
            };
            // The sum is (a rⁿ - a)/(r - 1), with `a rⁿ` behind its last term.
            return Ok((ratio != Rational::ONE && !first.is_zero())
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

/// Returns the quotient of the next term and this one, if it can be written down.
pub(crate) fn neighbours(term: &Expression, index: &str) -> Option<Expression> {
    let one_more = Expression::symbol(index) + Expression::integer(1);
    let next = |expression: &Expression| expression.with(index, &one_more);
    let varies = |expression: &Expression| expression.holds(index);
    let step = |argument: &Expression| next(argument) - argument.clone();
    Some(match term {
        term if !varies(term) => Expression::integer(1),
        Expression::Product(factors) => Expression::Product(
            factors.iter().map(|factor| neighbours(factor, index)).collect::<Option<_>>()?,
        ),
        Expression::Quotient(top, bottom) => neighbours(top, index)? / neighbours(bottom, index)?,
        Expression::Negative(inner) => neighbours(inner, index)?,
        Expression::Power(base, exponent) if !varies(base) => {
            Expression::power((**base).clone(), step(exponent))
        }
        Expression::Power(base, exponent) if !varies(exponent) => {
            Expression::power(neighbours(base, index)?, (**exponent).clone())
        }
        Expression::Function(name, parts) => match (name.as_str(), parts.as_slice()) {
            ("factorial", [argument]) => {
                let step = Algebra::new(STEP_FUEL).normalise(&step(argument)).ok()?;
                let step = step.as_constant().filter(Rational::is_int)?;
                let count = i64::try_from(step.numerator()).ok().filter(|n| (0..8).contains(n))?;
                let factor = |k| argument.clone() + Expression::integer(k);
                Expression::Product((1..=count).map(factor).collect())
            }
            ("binomial", [n, k]) => {
                let factorial = |of: Expression| Expression::function("factorial", [of]);
                let below = factorial(k.clone()) * factorial(n.clone() - k.clone());
                neighbours(&(factorial(n.clone()) / below), index)?
            }
            _ => return None,
        },
        Expression::Power(..) | Expression::Root(..) => return None,
        other => next(other) / other.clone(),
    })
}
