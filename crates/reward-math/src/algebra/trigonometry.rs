//! Sines and cosines: angle sums, exact values at multiples of 15° and 18°, and the first octant.

use dashu::base::{Abs, Signed};
use dashu::{Integer, Rational};

use super::{Algebra, Atom, Exponent, Fraction, Monomial, Polynomial, Result, small_integer};

/// Multiple angles up to this factor are expanded.
const LARGEST_MULTIPLE: i64 = 12;

impl Algebra {
    pub(super) fn trigonometric(&mut self, name: &str, argument: &Fraction) -> Result<Fraction> {
        let Some(polynomial) = argument.as_polynomial().cloned() else {
            return Ok(self.of_atom(Atom::Function(name.to_owned(), vec![argument.clone()])));
        };
        let (sine, cosine) = self.sine_cosine(&polynomial)?;
        match name {
            "sin" => Ok(sine),
            "cos" => Ok(cosine),
            "tan" => self.divide(&sine, &cosine),
            "cot" => self.divide(&cosine, &sine),
            "sec" => self.divide(&Fraction::one(), &cosine),
            _ => self.divide(&Fraction::one(), &sine),
        }
    }

    /// Sine and cosine of a sum of terms, by the addition theorems.
    fn sine_cosine(&mut self, argument: &Polynomial) -> Result<(Fraction, Fraction)> {
        let (mut sine, mut cosine) = (Fraction::zero(), Fraction::one());
        for (monomial, coefficient) in argument.terms() {
            let part = self.sine_cosine_of_term(monomial, coefficient)?;
            (sine, cosine) = self.angle_sum(&(sine, cosine), &part)?;
        }
        Ok((sine, cosine))
    }

    fn angle_sum(
        &mut self,
        (first_sine, first_cosine): &(Fraction, Fraction),
        (second_sine, second_cosine): &(Fraction, Fraction),
    ) -> Result<(Fraction, Fraction)> {
        let a = self.multiply(first_sine, second_cosine)?;
        let b = self.multiply(first_cosine, second_sine)?;
        let c = self.multiply(first_cosine, second_cosine)?;
        let d = self.multiply(first_sine, second_sine)?;
        Ok((self.add(&a, &b)?, self.subtract(&c, &d)?))
    }

    fn sine_cosine_of_term(
        &mut self,
        monomial: &Monomial,
        coefficient: &Rational,
    ) -> Result<(Fraction, Fraction)> {
        if let [(id, exponent)] = monomial.as_slice()
            && *exponent == Exponent::ONE
            && matches!(self.atom(*id), Atom::Symbol(name) if name == "\\pi")
        {
            return self.of_turns(*id, coefficient);
        }
        let multiple =
            i64::try_from(coefficient.numerator()).ok().filter(|n| n.abs() <= LARGEST_MULTIPLE);
        let (unit, times) = match multiple {
            Some(times) => {
                (Rational::from_parts(Integer::ONE, coefficient.denominator().clone()), times)
            }
            None => (coefficient.clone().abs(), if coefficient.is_negative() { -1 } else { 1 }),
        };
        let angle = Polynomial::term(monomial.clone(), unit);
        let single = (self.of_atom(Atom::Sine(angle.clone())), self.of_atom(Atom::Cosine(angle)));
        let mut sum = (Fraction::zero(), Fraction::one());
        for _ in 0..times.unsigned_abs() {
            sum = self.angle_sum(&sum, &single)?;
        }
        if times < 0 {
            sum.0 = sum.0.negated();
        }
        Ok(sum)
    }

    /// Sine and cosine of `turns · π`.
    fn of_turns(&mut self, pi: u32, turns: &Rational) -> Result<(Fraction, Fraction)> {
        let ratio = |top: i64, bottom: i64| Rational::from_parts_signed(top.into(), bottom.into());
        let mut turns = turns - (turns / ratio(2, 1)).floor() * Integer::from(2);
        let (mut flip_sine, mut flip_cosine) = (false, false);
        if turns >= ratio(1, 1) {
            turns -= ratio(1, 1);
            (flip_sine, flip_cosine) = (true, true);
        }
        if turns > ratio(1, 2) {
            turns = ratio(1, 1) - turns;
            flip_cosine = !flip_cosine;
        }
        let sine = self.sine_in_first_quadrant(pi, &turns)?;
        let cosine = self.sine_in_first_quadrant(pi, &(ratio(1, 2) - turns))?;
        Ok((
            if flip_sine { sine.negated() } else { sine },
            if flip_cosine { cosine.negated() } else { cosine },
        ))
    }

    fn sine_in_first_quadrant(&mut self, pi: u32, turns: &Rational) -> Result<Fraction> {
        let sixtieths = turns * Rational::from(60);
        let table = small_integer(&sixtieths).and_then(exact_sine);
        if let Some((radicals, divisor)) = table {
            let mut sum = Fraction::zero();
            for &(coefficient, radicand) in radicals {
                let radicand = Fraction::constant(Rational::from(radicand));
                let root = self.root(&radicand, 2)?;
                let scale = Rational::from_parts_signed(coefficient.into(), divisor.into());
                sum = self.add(&sum, &root.scaled(&scale))?;
            }
            return Ok(sum);
        }
        if turns.is_zero() {
            return Ok(Fraction::zero());
        }
        let angle = Polynomial::term(vec![(pi, Exponent::ONE)], turns.clone());
        // One atom serves both: the cosine is the sine of the complement.
        Ok(self.of_atom(Atom::Function("sin".to_owned(), vec![Fraction::from(angle)])))
    }
}

/// `sin(sixtieths · π / 60)` as a sum of `coefficient · √radicand`, and the common divisor.
fn exact_sine(sixtieths: i64) -> Option<(&'static [(i64, i64)], i64)> {
    Some(match sixtieths {
        0 => (&[], 1),
        5 => (&[(1, 6), (-1, 2)], 4),
        6 => (&[(1, 5), (-1, 1)], 4),
        10 => (&[(1, 1)], 2),
        15 => (&[(1, 2)], 2),
        18 => (&[(1, 5), (1, 1)], 4),
        20 => (&[(1, 3)], 2),
        25 => (&[(1, 6), (1, 2)], 4),
        30 => (&[(1, 1)], 1),
        _ => return None,
    })
}
