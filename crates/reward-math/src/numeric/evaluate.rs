//! Evaluation of expressions to enclosures.

use dashu::base::{Gcd, UnsignedAbs};
use dashu::{Integer, Rational};

use super::complex::Complex;
use super::real::{Arithmetic, Failure, Real, Result};
use crate::expression::Expression;

/// Most terms of a sum, factors of a product or of a factorial.
const MAX_TERMS: i64 = 10_000;

type Point<'a> = [(&'a str, Rational)];

#[derive(Clone)]
pub(super) enum Value {
    Exact(Rational),
    /// A node of a rule of integration, or an ellipse about its panel.
    Enclosed(Complex),
}

/// Encloses an expression at a point.
pub(super) fn evaluate(
    expression: &Expression,
    point: &Point<'_>,
    arithmetic: &mut Arithmetic,
) -> Result<Complex> {
    let point = point.iter().map(|(name, value)| (*name, Value::Exact(value.clone()))).collect();
    Evaluation { point, arithmetic }.value(expression)
}

pub(super) struct Evaluation<'a, 'b> {
    pub(super) point: Vec<(&'b str, Value)>,
    pub(super) arithmetic: &'a mut Arithmetic,
}

impl<'b> Evaluation<'_, 'b> {
    pub(super) fn value(&mut self, expression: &'b Expression) -> Result<Complex> {
        self.arithmetic.spend(1)?;
        let value = self.part(expression)?;
        if self.arithmetic.only_real && !value.is_real() {
            return Err(Failure::NotReal);
        }
        Ok(value)
    }

    fn part(&mut self, expression: &'b Expression) -> Result<Complex> {
        match expression {
            Expression::Number(value) => Ok(self.arithmetic.rational(value)?.into()),
            Expression::Symbol(name) => self.symbol(name),
            Expression::Sum(items) => items.iter().try_fold(Real::from(0).into(), |sum, item| {
                let item = self.value(item)?;
                self.arithmetic.add_complex(&sum, &item)
            }),
            Expression::Product(items) => {
                items.iter().try_fold(Real::from(1).into(), |product, item| {
                    let item = self.value(item)?;
                    self.arithmetic.multiply_complex(&product, &item)
                })
            }
            Expression::Negative(inner) => Ok(self.value(inner)?.negated()),
            Expression::Quotient(top, bottom) => {
                let (top, bottom) = (self.value(top)?, self.value(bottom)?);
                self.arithmetic.divide_complex(&top, &bottom)
            }
            Expression::Power(base, exponent) => self.power(base, exponent),
            Expression::Root(radicand, 2) => {
                let radicand = self.value(radicand)?;
                self.arithmetic.square_root(&radicand)
            }
            Expression::Root(radicand, index) => {
                let radicand = self.value(radicand)?;
                if self.arithmetic.analytic {
                    let logarithm = self.arithmetic.logarithm_complex(&radicand)?;
                    let index = Real::from(i64::from(*index)).into();
                    let part = self.arithmetic.divide_complex(&logarithm, &index)?;
                    return self.arithmetic.exp_complex(&part);
                }
                Ok(self.arithmetic.root(&radicand.into_real()?, *index)?.into())
            }
            Expression::Function(name, arguments) => self.function(name, arguments),
        }
    }

    /// Returns the value of an expression where a name has this meaning.
    pub(super) fn with(
        &mut self,
        body: &'b Expression,
        name: &'b str,
        meaning: Value,
    ) -> Result<Complex> {
        self.point.push((name, meaning));
        let value = self.value(body);
        self.point.pop();
        value
    }

    /// Returns a term of a sum or a factor of a product.
    pub(super) fn term(&mut self, body: &'b Expression, index: &'b str, n: i64) -> Result<Complex> {
        self.with(body, index, Value::Exact(Rational::from(n)))
    }

    pub(super) fn real(&mut self, expression: &'b Expression) -> Result<Real> {
        self.value(expression)?.into_real()
    }

    /// Returns an integer of moderate size, exactly.
    fn whole(&mut self, expression: &'b Expression) -> Result<i64> {
        let integer = self.real(expression)?.integer().ok_or(Failure::Unknown)?;
        i64::try_from(integer).map_err(|_| Failure::TooLarge)
    }

    fn symbol(&mut self, name: &str) -> Result<Complex> {
        // The innermost meaning of a name counts: the index of a sum hides a variable.
        if let Some((_, value)) = self.point.iter().rev().find(|(known, _)| *known == name) {
            return Ok(match value.clone() {
                Value::Exact(value) => self.arithmetic.rational(&value)?.into(),
                Value::Enclosed(value) => value,
            });
        }
        match name {
            "\\pi" => Ok(self.arithmetic.pi()?.into()),
            "e" => Ok(self.arithmetic.exp(&Real::from(1))?.into()),
            "i" => Ok(Complex { real: Real::from(0), imaginary: Real::from(1) }),
            _ => Err(Failure::Unknown),
        }
    }

    fn power(&mut self, base: &'b Expression, exponent: &'b Expression) -> Result<Complex> {
        let exponent_value = self.value(exponent)?;
        if let Some(exponent) = exponent_value.real.integer().filter(|_| exponent_value.is_real()) {
            let base = self.value(base)?;
            return self.integer_power(&base, &exponent);
        }
        if matches!(base, Expression::Symbol(name) if name == "e")
            && !self.point.iter().any(|(known, _)| *known == "e")
        {
            return self.arithmetic.exp_complex(&exponent_value);
        }
        let base_value = self.value(base)?;
        let logarithm = if self.arithmetic.analytic {
            self.arithmetic.logarithm_complex(&base_value)?
        } else {
            let base_value = base_value.into_real()?;
            // A root of odd index has a real value for negative numbers too, and conventions differ: no result.
            if !base_value.is_positive() {
                let negative = base_value.is_negative();
                return Err(if negative { Failure::Ambiguous } else { Failure::Unclear });
            }
            self.arithmetic.logarithm(&base_value)?.into()
        };
        let product = self.arithmetic.multiply_complex(&exponent_value, &logarithm)?;
        self.arithmetic.exp_complex(&product)
    }

    fn integer_power(&mut self, base: &Complex, exponent: &Integer) -> Result<Complex> {
        let power = u64::try_from(exponent.unsigned_abs()).map_err(|_| Failure::TooLarge)?;
        let result = if base.is_real() {
            self.arithmetic.power(&base.real, power)?.into()
        } else {
            self.arithmetic.power_complex(base, power)?
        };
        if *exponent < Integer::ZERO {
            return self.arithmetic.divide_complex(&Real::from(1).into(), &result);
        }
        Ok(result)
    }

    /// Returns `n (n - 1) … (n - count + 1)`.
    fn falling(&mut self, n: i64, count: i64) -> Result<Real> {
        if count < 0 || n < 0 {
            return Err(Failure::Undefined);
        }
        if count > MAX_TERMS {
            return Err(Failure::TooLarge);
        }
        self.product_of((n - count + 1..=n).rev())
    }

    /// Returns the product of positive integers, several of them per step.
    fn product_of(&mut self, factors: impl Iterator<Item = i64>) -> Result<Real> {
        let mut product = Real::from(1);
        let mut gathered = 1_i64;
        for factor in factors {
            if let Some(more) = gathered.checked_mul(factor) {
                gathered = more;
            } else {
                product = self.arithmetic.multiply(&product, &Real::from(gathered))?;
                gathered = factor;
            }
        }
        self.arithmetic.multiply(&product, &Real::from(gathered))
    }

    fn series(
        &mut self,
        name: &str,
        index: &'b str,
        (low, high): (&'b Expression, &'b Expression),
        body: &'b Expression,
    ) -> Result<Complex> {
        let low = self.whole(low)?;
        if name == "sum" && high.is_symbol("\\infty") {
            let spread = self.arithmetic.spread;
            let sum = self.infinite_sum(index, low, body);
            // Terms without effect are an error of known size here.
            self.arithmetic.spread = spread;
            return sum;
        }
        let high = self.whole(high)?;
        if high.saturating_sub(low) >= MAX_TERMS {
            return Err(Failure::TooLarge);
        }
        let mut total = Complex::from(Real::from(i64::from(name == "prod")));
        for index_value in low..=high {
            let term = self.term(body, index, index_value)?;
            total = match name {
                "sum" => self.arithmetic.add_complex(&total, &term)?,
                _ => self.arithmetic.multiply_complex(&total, &term)?,
            };
        }
        Ok(total)
    }

    #[expect(clippy::too_many_lines, reason = "one arm a function")]
    fn function(&mut self, name: &str, arguments: &'b [Expression]) -> Result<Complex> {
        match (name, arguments) {
            ("abs", [inner]) => {
                let inner = self.value(inner)?;
                if self.arithmetic.analytic && !inner.is_real() {
                    return match &inner.real {
                        real if real.is_positive() => Ok(inner),
                        real if real.is_negative() => Ok(inner.negated()),
                        _ => Err(Failure::Unclear),
                    };
                }
                Ok(self.arithmetic.modulus(&inner)?.into())
            }
            ("factorial", [n]) => {
                let n = self.whole(n)?;
                Ok(self.falling(n, n)?.into())
            }
            ("binomial", [n, k]) => {
                let (n, k) = (self.whole(n)?, self.whole(k)?);
                if k < 0 || n < k {
                    return if n >= 0 { Ok(Real::from(0).into()) } else { Err(Failure::Undefined) };
                }
                let k = k.min(n - k);
                let (top, bottom) = (self.falling(n, k)?, self.falling(k, k)?);
                Ok(self.arithmetic.divide(&top, &bottom)?.into())
            }
            ("logarithm", [base, argument]) => {
                let argument = self.real(argument)?;
                let top = self.arithmetic.logarithm(&argument)?;
                let base = self.real(base)?;
                let bottom = self.arithmetic.logarithm(&base)?;
                Ok(self.arithmetic.divide(&top, &bottom)?.into())
            }
            ("sum" | "prod", [Expression::Symbol(index), low, high, body]) => {
                self.series(name, index, (low, high), body)
            }
            ("int", [Expression::Symbol(variable), low, high, body]) => {
                self.integral(variable, [low, high], body)
            }
            ("gcd" | "lcm", [_, _, ..]) => {
                let mut result = Integer::from(self.whole(&arguments[0])?);
                for argument in &arguments[1..] {
                    let next = Integer::from(self.whole(argument)?);
                    result = match name {
                        _ if result.is_zero() && next.is_zero() => result,
                        "gcd" => (&result).gcd(&next).into(),
                        _ => (&result / (&result).gcd(&next) * next).unsigned_abs().into(),
                    };
                }
                Ok(self.arithmetic.integer(&result)?.into())
            }
            ("mod", [value, modulus]) => {
                let modulus = self.whole(modulus)?;
                if modulus == 0 {
                    return Err(Failure::Undefined);
                }
                // A long integer is exact at a higher precision.
                let value = self.real(value)?.integer().ok_or(Failure::Unclear)?;
                Ok(Real::from((value % modulus).rem_euclid(modulus)).into())
            }
            ("Re" | "Im", [argument]) if !self.arithmetic.analytic => {
                let value = self.value(argument)?;
                Ok(if name == "Re" { value.real } else { value.imaginary }.into())
            }
            ("double factorial", [argument]) => {
                let n = self.whole(argument)?;
                if n < -1 {
                    return Err(Failure::Undefined);
                }
                if n > 2 * MAX_TERMS {
                    return Err(Failure::TooLarge);
                }
                Ok(self.product_of((1..=n).rev().step_by(2))?.into())
            }
            ("max" | "min", [_, ..]) => {
                let mut best = self.real(&arguments[0])?;
                for argument in &arguments[1..] {
                    let Real { low, high } = self.real(argument)?;
                    best = match name {
                        "max" => Real { low: best.low.max(low), high: best.high.max(high) },
                        _ => Real { low: best.low.min(low), high: best.high.min(high) },
                    };
                }
                Ok(best.into())
            }
            (_, [argument]) => {
                let argument = self.value(argument)?;
                if self.arithmetic.analytic && !argument.is_real() {
                    return self.arithmetic.function_complex(name, &argument);
                }
                Ok(self.real_function(name, &argument.into_real()?)?.into())
            }
            _ => Err(Failure::Unknown),
        }
    }

    fn real_function(&mut self, name: &str, x: &Real) -> Result<Real> {
        let field = &mut *self.arithmetic;
        match name {
            "log" => {
                let (top, bottom) = (field.logarithm(x)?, field.logarithm(&Real::from(10))?);
                field.divide(&top, &bottom)
            }
            "degrees" => {
                let pi = field.pi()?;
                let product = field.multiply(x, &pi)?;
                field.divide(&product, &Real::from(180))
            }
            "arcsin" => field.arc_sine(x),
            "arccos" => {
                let (arc, pi, two) = (field.arc_sine(x)?, field.pi()?, Real::from(2));
                let quarter = field.divide(&pi, &two)?;
                field.subtract(&quarter, &arc)
            }
            "arctan" => field.arc_tangent(x),
            "arsinh" | "arcosh" | "artanh" => inverse_hyperbolic(field, name, x),
            "floor" => field.floor(x),
            "ceil" => Ok(field.floor(&x.negated())?.negated()),
            _ => field.function_complex(name, &x.clone().into())?.into_real(),
        }
    }
}

fn inverse_hyperbolic(field: &mut Arithmetic, name: &str, x: &Real) -> Result<Real> {
    let one = Real::from(1);
    if name == "artanh" {
        let (top, bottom) = (field.add(&one, x)?, field.subtract(&one, x)?);
        let quotient = field.divide(&top, &bottom)?;
        let logarithm = field.logarithm(&quotient)?;
        return field.divide(&logarithm, &Real::from(2));
    }
    let square = field.power(x, 2)?;
    let sum = match name {
        "arsinh" => field.add(&square, &one)?,
        _ => field.subtract(&square, &one)?,
    };
    let root = field.root(&sum, 2)?;
    let sum = field.add(x, &root)?;
    field.logarithm(&sum)
}
