//! Enclosures of complex numbers: a rectangle, or an interval of the real line.

use super::real::{Arithmetic, Failure, Real, Result};
use crate::power::power;

/// Enclosure of a complex number; one whose imaginary part is exactly 0 is real.
#[derive(Debug, Clone)]
pub(super) struct Complex {
    pub(super) real: Real,
    pub(super) imaginary: Real,
}

impl From<Real> for Complex {
    fn from(real: Real) -> Self {
        Self { real, imaginary: Real::from(0) }
    }
}

impl Complex {
    pub(super) fn is_real(&self) -> bool {
        self.imaginary.is_exactly(0)
    }

    /// Returns the real number, if there is no imaginary part.
    pub(super) fn into_real(self) -> Result<Real> {
        if self.is_real() { Ok(self.real) } else { Err(Failure::Unknown) }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.real.is_exact() && self.imaginary.is_exact()
    }

    pub(super) fn bits_before_point(&self) -> usize {
        self.real.bits_before_point().max(self.imaginary.bits_before_point())
    }

    /// Returns the least and the greatest real part, then imaginary part, as text: `3/4`, or `-5*2^-3`.
    pub(super) fn ends(&self) -> [[String; 2]; 2] {
        [self.real.ends(), self.imaginary.ends()]
    }

    pub(super) fn negated(&self) -> Self {
        Self { real: self.real.negated(), imaginary: self.imaginary.negated() }
    }

    pub(super) fn shifted(&self, power: isize) -> Self {
        Self { real: self.real.shifted(power), imaginary: self.imaginary.shifted(power) }
    }

    /// Returns the enclosure times `i`.
    fn turned(&self) -> Self {
        Self { real: self.imaginary.negated(), imaginary: self.real.clone() }
    }

    pub(super) fn is_apart(&self, other: &Self) -> bool {
        self.real.is_apart(&other.real) || self.imaginary.is_apart(&other.imaginary)
    }

    pub(super) fn are_narrow_with(&self, other: &Self, arithmetic: &mut Arithmetic) -> bool {
        arithmetic.are_narrow(&self.real, &other.real) == Ok(true)
            && arithmetic.are_narrow(&self.imaginary, &other.imaginary) == Ok(true)
    }
}

impl Arithmetic {
    pub(super) fn add_complex(&mut self, a: &Complex, b: &Complex) -> Result<Complex> {
        let real = self.add(&a.real, &b.real)?;
        Ok(Complex { real, imaginary: self.add(&a.imaginary, &b.imaginary)? })
    }

    pub(super) fn multiply_complex(&mut self, a: &Complex, b: &Complex) -> Result<Complex> {
        if a.is_real() && b.is_real() {
            return Ok(self.multiply(&a.real, &b.real)?.into());
        }
        let (reals, others) =
            (self.multiply(&a.real, &b.real)?, self.multiply(&a.imaginary, &b.imaginary)?);
        let (first, second) =
            (self.multiply(&a.real, &b.imaginary)?, self.multiply(&a.imaginary, &b.real)?);
        let imaginary = self.add(&first, &second)?;
        Ok(Complex { real: self.subtract(&reals, &others)?, imaginary })
    }

    pub(super) fn divide_complex(&mut self, a: &Complex, b: &Complex) -> Result<Complex> {
        if a.is_real() && b.is_real() {
            return Ok(self.divide(&a.real, &b.real)?.into());
        }
        let conjugate = Complex { real: b.real.clone(), imaginary: b.imaginary.negated() };
        let (across, up) = (self.power(&b.real, 2)?, self.power(&b.imaginary, 2)?);
        let square = self.add(&across, &up)?;
        let Complex { real, imaginary } = self.multiply_complex(a, &conjugate)?;
        let imaginary = self.divide(&imaginary, &square)?;
        Ok(Complex { real: self.divide(&real, &square)?, imaginary })
    }

    pub(super) fn power_complex(&mut self, value: &Complex, exponent: u64) -> Result<Complex> {
        let square = |field: &mut Self, base: &_| field.multiply_complex(base, base);
        let result = power(self, value.clone(), exponent, Self::multiply_complex, square)?;
        Ok(result.unwrap_or_else(|| Real::from(1).into()))
    }

    pub(super) fn modulus(&mut self, value: &Complex) -> Result<Real> {
        if value.is_real() {
            return Ok(value.real.absolute());
        }
        let (a, b) = (self.power(&value.real, 2)?, self.power(&value.imaginary, 2)?);
        let square = self.add(&a, &b)?.absolute();
        self.root(&square, 2)
    }

    /// Returns the principal square root.
    pub(super) fn square_root(&mut self, value: &Complex) -> Result<Complex> {
        if value.is_real() {
            if value.real.is_negative() {
                let imaginary = self.root(&value.real.negated(), 2)?;
                return Ok(Complex { real: Real::from(0), imaginary });
            }
            return Ok(self.root(&value.real, 2)?.into());
        }
        let right = value.real.is_positive();
        if !right && value.imaginary.holds_zero() {
            return Err(Failure::Unclear);
        }
        // √z = √((|z| + x) / 2) ± i √((|z| - x) / 2), with the sign of the imaginary part y, which is 2 Re √z Im √z.
        let modulus = self.modulus(value)?;
        let above = self.add(&modulus, &value.real)?.shifted(-1).absolute();
        let real = self.root(&above, 2)?;
        let imaginary = if right {
            self.divide(&value.imaginary.shifted(-1), &real)?
        } else {
            let below = self.subtract(&modulus, &value.real)?.shifted(-1).absolute();
            let part = self.root(&below, 2)?;
            if value.imaginary.is_positive() { part } else { part.negated() }
        };
        Ok(Complex { real, imaginary })
    }

    /// Returns `e^(x + iy) = e^x (cos y + i sin y)`.
    pub(super) fn exp_complex(&mut self, value: &Complex) -> Result<Complex> {
        let size = self.exp(&value.real)?;
        if value.is_real() {
            return Ok(size.into());
        }
        let (across, up) = (self.cosine(&value.imaginary)?, self.sine(&value.imaginary)?);
        let imaginary = self.multiply(&size, &up)?;
        Ok(Complex { real: self.multiply(&size, &across)?, imaginary })
    }

    /// Returns the logarithm in the plane without the negative numbers and 0.
    pub(super) fn logarithm_complex(&mut self, value: &Complex) -> Result<Complex> {
        let Complex { real: across, imaginary: up } = value;
        if value.is_real() {
            return Ok(self.logarithm(across)?.into());
        }
        let modulus = self.modulus(value)?;
        let imaginary = if across.is_positive() {
            let slope = self.divide(up, across)?;
            self.arc_tangent(&slope)?
        } else if up.holds_zero() {
            return Err(Failure::Unclear);
        } else {
            let (slope, quarter) = (self.divide(across, up)?, self.pi()?.shifted(-1));
            let quarter = if up.is_positive() { quarter } else { quarter.negated() };
            let arc = self.arc_tangent(&slope)?;
            self.subtract(&quarter, &arc)?
        };
        Ok(Complex { real: self.logarithm(&modulus)?, imaginary })
    }

    /// Returns a function where it is analytic.
    pub(super) fn function_complex(&mut self, name: &str, value: &Complex) -> Result<Complex> {
        let one = Complex::from(Real::from(1));
        Ok(match name {
            "ln" => self.logarithm_complex(value)?,
            "sin" if value.is_real() => self.sine(&value.real)?.into(),
            "cos" if value.is_real() => self.cosine(&value.real)?.into(),
            "sin" => self.hyperbolic("sinh", &value.turned())?.turned().negated(),
            "cos" => self.hyperbolic("cosh", &value.turned())?,
            "sinh" | "cosh" => self.hyperbolic(name, value)?,
            "tan" | "cot" | "tanh" | "coth" => {
                let (sine, cosine) =
                    if name.ends_with('h') { ("sinh", "cosh") } else { ("sin", "cos") };
                let (sine, cosine) =
                    (self.function_complex(sine, value)?, self.function_complex(cosine, value)?);
                if name.starts_with("tan") {
                    self.divide_complex(&sine, &cosine)?
                } else {
                    self.divide_complex(&cosine, &sine)?
                }
            }
            "sec" | "csc" | "sech" | "csch" => {
                let inverse = if name.starts_with("se") { "cos" } else { "sin" };
                let hyperbolic = if name.ends_with('h') { "h" } else { "" };
                let below = self.function_complex(&format!("{inverse}{hyperbolic}"), value)?;
                self.divide_complex(&one, &below)?
            }
            // (ln(1 + iz) - ln(1 - iz)) / 2i
            "arctan" => {
                let (above, below) = (
                    self.add_complex(&one, &value.turned())?,
                    self.add_complex(&one, &value.turned().negated())?,
                );
                let (above, below) =
                    (self.logarithm_complex(&above)?, self.logarithm_complex(&below)?);
                self.add_complex(&above, &below.negated())?.turned().negated().shifted(-1)
            }
            // -i ln(iz + √(1 - z²))
            "arcsin" => {
                let square = self.power_complex(value, 2)?.negated();
                let inside = self.add_complex(&one, &square)?;
                let root = self.square_root(&inside)?;
                let sum = self.add_complex(&value.turned(), &root)?;
                self.logarithm_complex(&sum)?.turned().negated()
            }
            "arccos" => {
                let arc = self.function_complex("arcsin", value)?;
                let quarter = self.pi()?.shifted(-1).into();
                self.add_complex(&quarter, &arc.negated())?
            }
            _ => return Err(Failure::Unknown),
        })
    }

    /// Returns `(e^z ± e^-z) / 2`.
    fn hyperbolic(&mut self, name: &str, value: &Complex) -> Result<Complex> {
        let (up, down) = (self.exp_complex(value)?, self.exp_complex(&value.negated())?);
        let down = if name == "sinh" { down.negated() } else { down };
        Ok(self.add_complex(&up, &down)?.shifted(-1))
    }
}
