//! Numbers written in a base: `101_2`, `1302_{-4}`.

use dashu::{Integer, Rational};

use super::{Parser, Result};
use crate::expression::Expression;
use crate::verdict::ParseError;

/// Most digits of a number written in a base.
pub(crate) const MAX_DIGITS: usize = 1024;
/// Most steps that the numbers in a base of one answer may take: each takes the square of its digits.
const MAX_STEPS: usize = 8 * MAX_DIGITS * MAX_DIGITS;

/// The number that digits, a point and commas mean in a base; `None` where one is no digit of it.
///
/// The base or its negative lies in `2..=36`. The work is quadratic in the digits: one product of the value a digit, and
/// one division.
pub(crate) fn in_base(digits: &str, base: i32) -> Option<Rational> {
    let (mut value, mut places) = (Integer::ZERO, None);
    for c in digits.chars().filter(|c| *c != ',') {
        if c == '.' {
            places = Some(0_usize);
            continue;
        }
        value = value * base + c.to_digit(base.unsigned_abs())?;
        places = places.map(|count| count + 1);
    }
    Some(match places {
        None => Rational::from(value),
        Some(places) => Rational::from_parts_signed(value, Integer::from(base).pow(places)),
    })
}

impl Parser {
    /// `101_2`, `0.0011_{2}`, `1302_{-4}`: the digits read in the base of the subscript.
    pub(super) fn number_in_base(&mut self, digits: &str) -> Result<Expression> {
        self.advance();
        let base = self.subscript()?;
        let base = base.parse::<i32>().ok().filter(|base| (2..=36).contains(&base.unsigned_abs()));
        let base = base.ok_or_else(|| self.unexpected("a number base from 2 to 36"))?;
        if digits.len() > MAX_DIGITS {
            return Err(ParseError::TooLong { found: digits.len(), limit: MAX_DIGITS });
        }
        self.base_steps += digits.len().pow(2);
        if self.base_steps > MAX_STEPS {
            return Err(ParseError::OutOfFuel);
        }
        let value = in_base(digits, base);
        let value = value.ok_or_else(|| self.unexpected(&format!("digits of base {base}")))?;
        // No literal: `101_2 = 5` is a calculation.
        Ok(Expression::Sum(vec![Expression::Number(value)]))
    }
}
