//! Enclosures of infinite series whose terms are a rational function of the index, signs, powers and factorials.

use std::cmp::Ordering;
use std::sync::LazyLock;

use dashu::Rational;
use dashu::base::{Abs, Inverse};

use super::complex::Complex;
use super::evaluate::{Evaluation, Value};
use super::real::{Failure, Real, Result};
use crate::algebra::{Algebra, Fraction, neighbours};
use crate::expression::Expression;

/// Fuel of the normal form of a quotient of terms.
const NORMAL_FORM_FUEL: u64 = 20_000;
/// Most terms that are added one by one.
const MOST_TERMS: i64 = 4_000;
/// Largest power of `1/n` of the rest, and the multiple of the roots' bound from which it is summed by powers.
const POWERS: isize = 40;
const MULTIPLE: u8 = 8;
/// Terms of the Euler-Maclaurin formula.
const CORRECTIONS: isize = 20;
/// Exponents that the index may have.
const DEGREES: std::ops::RangeInclusive<i32> = -64..=64;

/// A quotient of polynomials of the index: coefficients from the constant on.
struct Quotient {
    top: Vec<Rational>,
    bottom: Vec<Rational>,
}

impl<'b> Evaluation<'_, 'b> {
    /// Encloses `\sum_{n=a}^\infty` of terms with a rational quotient of neighbours.
    ///
    /// If the quotient stays below q < 1 the rest is at most the last term times q / (1 - q). If it tends to ±1 the terms
    /// must be a rational function but for their sign.
    pub(super) fn infinite_sum(
        &mut self,
        index: &'b str,
        low: i64,
        body: &'b Expression,
    ) -> Result<Complex> {
        let known = |name: &str| match self.point.iter().rev().find(|(known, _)| *known == name)? {
            (_, Value::Exact(value)) if name != index => Some(Expression::Number(value.clone())),
            _ => None,
        };
        let terms = body.substituted(&known);
        let ratio = neighbours(&terms, index).and_then(|ratio| Quotient::of(&ratio, index));
        let ratio = match (ratio, body) {
            (Some(ratio), _) => ratio,
            (None, Expression::Sum(parts)) => {
                return parts.iter().try_fold(Real::from(0).into(), |total, part| {
                    let part = self.infinite_sum(index, low, part)?;
                    self.arithmetic.add_complex(&total, &part)
                });
            }
            (None, _) => return Err(Failure::Unknown),
        };
        let limit = match ratio.degree() {
            ..0 => Rational::ZERO,
            0 => ratio.leading(),
            _ => return Err(Failure::Undefined),
        };
        match limit.clone().abs().cmp(&Rational::ONE) {
            Ordering::Less => self.geometric(index, low, body, &ratio),
            Ordering::Equal => {
                self.rational_sum(index, low, (body, &terms), limit < Rational::ZERO)
            }
            Ordering::Greater => Err(Failure::Undefined),
        }
    }

    /// Adds the first terms one by one, the rest by powers of `1/n`.
    fn rational_sum(
        &mut self,
        index: &'b str,
        low: i64,
        (body, terms): (&'b Expression, &Expression),
        alternating: bool,
    ) -> Result<Complex> {
        let unsigned = terms.replaced(&|node| match node {
            Expression::Power(base, _) => base
                .literal()
                .is_some_and(|base| alternating && base == Rational::NEG_ONE)
                .then(|| Expression::integer(1)),
            _ => None,
        });
        let rational = Quotient::of(&unsigned, index).ok_or(Failure::Unknown)?;
        let needed = if alternating { -1 } else { -2 };
        if rational.degree() > needed {
            return Err(Failure::Undefined);
        }
        let from = (rational.radius() * Rational::from(MULTIPLE)).ceil();
        let from = i64::try_from(from).map_err(|_| Failure::TooLarge)?.max(low);
        if from.saturating_sub(low) > MOST_TERMS {
            return Err(Failure::TooLarge);
        }
        let mut total = Complex::from(Real::from(0));
        for n in low..from {
            let term = self.term(body, index, n)?;
            total = self.arithmetic.add_complex(&total, &term)?;
        }
        let rest = self.rest(&rational, from, alternating)?;
        if !alternating {
            return self.arithmetic.add_complex(&total, &rest.into());
        }
        // The sign of the first term of the rest, beside that of the rational function.
        let first = self.term(body, index, from)?.into_real()?;
        let positive = rational.value(from) > Rational::ZERO;
        let rest = match (first.is_positive(), first.is_negative()) {
            (false, false) => return Err(Failure::Unclear),
            (is_positive, _) if is_positive == positive => rest,
            _ => rest.negated(),
        };
        self.arithmetic.add_complex(&total, &rest.into())
    }

    /// Adds terms until the rest is small.
    fn geometric(
        &mut self,
        index: &'b str,
        low: i64,
        body: &'b Expression,
        ratio: &Quotient,
    ) -> Result<Complex> {
        let mut total = Complex::from(Real::from(0));
        let enough = -isize::try_from(self.arithmetic.bits).unwrap_or(isize::MAX);
        for n in low..low.saturating_add(MOST_TERMS) {
            let term = self.term(body, index, n)?;
            total = self.arithmetic.add_complex(&total, &term)?;
            let size = self.arithmetic.modulus(&term)?;
            let small = size.size() < enough.saturating_add(total.real.size().max(0));
            if !small || n < 1 {
                continue;
            }
            let Some(bound) =
                ratio.bound_at(&Rational::from(n)).filter(|bound| *bound < Rational::ONE)
            else {
                continue;
            };
            let factor = self.arithmetic.rational(&(&bound / (Rational::ONE - &bound)))?;
            let rest = self.arithmetic.multiply(&size, &factor)?.both_signs();
            let imaginary = if total.is_real() { Real::from(0) } else { rest.clone() };
            return self.arithmetic.add_complex(&total, &Complex { real: rest, imaginary });
        }
        Err(Failure::TooLarge)
    }

    /// Encloses `\sum_{n≥N} r(n)`, or `\sum (-1)^{n-N} r(n)`, by the series `r(n) = Σ c_k n^{-k}`.
    fn rest(&mut self, rational: &Quotient, from: i64, alternating: bool) -> Result<Real> {
        let first = -rational.degree();
        let mut rest = Real::from(0);
        for (k, coefficient) in (first..).zip(rational.in_reciprocals()) {
            let power = self.power_sum(k, from, alternating)?;
            let coefficient = self.arithmetic.rational(&coefficient)?;
            let part = self.arithmetic.multiply(&coefficient, &power)?;
            rest = self.arithmetic.add(&rest, &part)?;
        }
        // |c_k| ≤ M R^k by Cauchy, and n ≥ MULTIPLE · R: the powers that are left out are at most a geometric series.
        let radius = Rational::from(from) / Rational::from(MULTIPLE);
        let bound = rational.bound_at(&radius).ok_or(Failure::Unclear)?;
        let cut = Rational::from(MULTIPLE).pow(POWERS + first - 2);
        let error = bound * Rational::from(2) * (Rational::from(from) + Rational::ONE) / cut;
        let error = self.arithmetic.rational(&error)?.both_signs();
        self.arithmetic.add(&rest, &error)
    }

    /// Encloses `\sum_{n≥N} n^{-k}`, or `\sum (-1)^{n-N} n^{-k}`, by the formula of Euler and Maclaurin, or of Boole.
    ///
    /// The derivatives of `x^{-k}` have alternating signs, so the rest is at most the first term that is left out.
    fn power_sum(&mut self, k: isize, from: i64, alternating: bool) -> Result<Real> {
        let start = Rational::from(from);
        let power = start.pow(k).inv();
        let mut sum = &power / Rational::from(2);
        if !alternating {
            sum += &power * &start / Rational::from(k - 1);
        }
        // (k)_{m} / m! N^{-k-m}, m = 1, 3, …
        let mut rising = &power * Rational::from(k) / &start;
        let mut error = Rational::ZERO;
        for (j, bernoulli) in (1..).zip(&*BERNOULLI) {
            let m = 2 * j - 1;
            let mut term = bernoulli * &rising / Rational::from(2 * j);
            if alternating {
                term *= Rational::from(4).pow(j) - Rational::ONE;
            }
            if j == CORRECTIONS {
                error = term.abs();
                break;
            }
            sum += term;
            rising = rising * Rational::from((k + m) * (k + m + 1))
                / (Rational::from((m + 1) * (m + 2)) * &start * &start);
        }
        let (sum, error) = (self.arithmetic.rational(&sum)?, self.arithmetic.rational(&error)?);
        self.arithmetic.add(&sum, &error.both_signs())
    }
}

impl Quotient {
    /// Returns an expression as a quotient of polynomials with rational coefficients, if it is one.
    fn of(expression: &Expression, index: &str) -> Option<Self> {
        let mut algebra = Algebra::new(NORMAL_FORM_FUEL);
        let Fraction { numerator, denominator } = algebra.normalise(expression).ok()?;
        let (variable, top) = algebra.powers(&numerator)?;
        let (other, bottom) = algebra.powers(&denominator)?;
        let small = |(power, _): &(i32, &Rational)| DEGREES.contains(power);
        if [variable, other].into_iter().flatten().any(|name| name != index)
            || !top.iter().chain(&bottom).all(small)
        {
            return None;
        }
        let lowest = top.iter().chain(&bottom).map(|(power, _)| *power).min()?;
        let dense = |powers: Vec<(i32, &Rational)>| {
            let highest = powers.iter().map(|(power, _)| *power).max()?;
            let mut dense = vec![Rational::ZERO; usize::try_from(highest - lowest).ok()? + 1];
            for (power, coefficient) in powers {
                dense[usize::try_from(power - lowest).ok()?].clone_from(coefficient);
            }
            Some(dense)
        };
        Some(Self { top: dense(top)?, bottom: dense(bottom)? })
    }

    /// Returns the degree of the numerator less that of the denominator.
    fn degree(&self) -> isize {
        self.top.len().cast_signed() - self.bottom.len().cast_signed()
    }

    /// Returns the quotient of the leading coefficients.
    fn leading(&self) -> Rational {
        &self.top[self.top.len() - 1] / &self.bottom[self.bottom.len() - 1]
    }

    /// Returns the value at an integer at which the denominator is not 0.
    fn value(&self, n: i64) -> Rational {
        let n = Rational::from(n);
        let polynomial = |coefficients: &[Rational]| {
            coefficients.iter().rev().fold(Rational::ZERO, |sum, c| sum * &n + c)
        };
        polynomial(&self.top) / polynomial(&self.bottom)
    }

    /// Returns a bound of |r(z)| for all z with |z| = `radius`, and for larger ones if the degree is at most 0.
    fn bound_at(&self, radius: &Rational) -> Option<Rational> {
        let size = |coefficients: &[Rational]| {
            let add = |sum: Rational, c: &Rational| sum * radius + c.clone().abs();
            coefficients.iter().rev().fold(Rational::ZERO, add)
        };
        let (last, others) = self.bottom.split_last()?;
        let below = last.clone().abs() * radius.pow(others.len().cast_signed()) - size(others);
        (below > Rational::ZERO).then(|| size(&self.top) / below)
    }

    /// Returns a radius of at least 4 on which the denominator is at least half its leading term.
    fn radius(&self) -> Rational {
        let Some((last, others)) = self.bottom.split_last() else { return Rational::from(4) };
        let largest = others.iter().map(|c| (c / last).abs()).max().unwrap_or(Rational::ZERO);
        (largest * Rational::from(4)).max(Rational::from(4))
    }

    /// Returns the coefficients of the first powers of `1/n`, from the first that is not 0.
    fn in_reciprocals(&self) -> Vec<Rational> {
        let (top, bottom): (Vec<_>, Vec<_>) =
            (self.top.iter().rev().collect(), self.bottom.iter().rev().collect());
        let mut series: Vec<Rational> = Vec::new();
        for k in 0..POWERS.unsigned_abs() {
            let mut rest = top.get(k).map_or(Rational::ZERO, |c| (*c).clone());
            for (i, c) in bottom.iter().enumerate().skip(1).take(k) {
                rest -= *c * &series[k - i];
            }
            series.push(rest / bottom[0]);
        }
        series
    }
}

/// The Bernoulli numbers `B_2, B_4, …`.
static BERNOULLI: LazyLock<Vec<Rational>> = LazyLock::new(|| {
    // Σ binomial(m + 1, k) B_k = 0
    let mut all = vec![Rational::ONE];
    for m in 1..=2 * CORRECTIONS {
        let (mut binomial, mut sum) = (Rational::ONE, Rational::ZERO);
        for (k, number) in (0..).zip(&all) {
            sum += &binomial * number;
            binomial = binomial * Rational::from(m + 1 - k) / Rational::from(k + 1);
        }
        all.push(-sum / Rational::from(m + 1));
    }
    all.into_iter().skip(2).step_by(2).collect()
});
