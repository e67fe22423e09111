//! Enclosures of complex numbers: a rectangle, or an interval of the real line.

use super::real::{Arithmetic, Failure, Real, Result};

/// Enclosure of a complex number; one without imaginary part is known to be real.
#[derive(Debug, Clone)]
pub(crate) struct Complex {
    pub(super) real: Real,
    pub(super) imaginary: Option<Real>,
}

impl From<Real> for Complex {
    fn from(real: Real) -> Self {
        Self { real, imaginary: None }
    }
}

impl Complex {
    /// Returns the real number, if there is no imaginary part.
    pub(super) fn into_real(self) -> Result<Real> {
        match self.imaginary {
            None => Ok(self.real),
            Some(imaginary) if imaginary.is_exactly(0) => Ok(self.real),
            Some(_) => Err(Failure::Unknown),
        }
    }

    /// Returns true if the enclosure is one number.
    pub(super) fn is_exact(&self) -> bool {
        self.real.is_exact() && self.imaginary.as_ref().is_none_or(Real::is_exact)
    }

    /// Returns the number of bits before the point of the larger part.
    pub(super) fn bits_before_point(&self) -> usize {
        let imaginary = self.imaginary.as_ref().map_or(0, Real::bits_before_point);
        self.real.bits_before_point().max(imaginary)
    }

    /// Returns the least and the greatest real part, then imaginary part, as text: `3/4`, or `-5*2^-3`.
    pub(crate) fn ends(&self) -> [[String; 2]; 2] {
        let (real, imaginary) = self.parts();
        [real.ends(), imaginary.ends()]
    }

    pub(super) fn negated(&self) -> Self {
        Self { real: self.real.negated(), imaginary: self.imaginary.as_ref().map(Real::negated) }
    }

    /// Returns the real and the imaginary part.
    fn parts(&self) -> (Real, Real) {
        let imaginary = self.imaginary.clone().unwrap_or_else(|| Real::from(0));
        (self.real.clone(), imaginary)
    }

    /// Returns true if the two enclosures have no number in common.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        let apart = |a: &Option<Real>, b: &Option<Real>| match (a, b) {
            (None, None) => false,
            (Some(a), Some(b)) => a.is_apart(b),
            (Some(part), None) | (None, Some(part)) => !part.holds_zero(),
        };
        self.real.is_apart(&other.real) || apart(&self.imaginary, &other.imaginary)
    }

    /// Returns true if both are narrow, relative to the larger of them.
    pub(super) fn are_narrow_with(&self, other: &Self, arithmetic: &mut Arithmetic) -> bool {
        let zero = Real::from(0);
        let real = arithmetic.are_narrow(&self.real, &other.real);
        let parts = (
            self.imaginary.clone().unwrap_or_else(|| zero.clone()),
            other.imaginary.clone().unwrap_or(zero),
        );
        let imaginary = arithmetic.are_narrow(&parts.0, &parts.1);
        real == Ok(true) && imaginary == Ok(true)
    }
}

impl Arithmetic {
    pub(super) fn add_complex(&mut self, a: &Complex, b: &Complex) -> Result<Complex> {
        let real = self.add(&a.real, &b.real)?;
        let imaginary = match (&a.imaginary, &b.imaginary) {
            (None, None) => None,
            (Some(part), None) | (None, Some(part)) => Some(part.clone()),
            (Some(a), Some(b)) => Some(self.add(a, b)?),
        };
        Ok(Complex { real, imaginary })
    }

    pub(super) fn multiply_complex(&mut self, a: &Complex, b: &Complex) -> Result<Complex> {
        if a.imaginary.is_none() && b.imaginary.is_none() {
            return Ok(self.multiply(&a.real, &b.real)?.into());
        }
        let ((a, b), (c, d)) = (a.parts(), b.parts());
        let (ac, bd) = (self.multiply(&a, &c)?, self.multiply(&b, &d)?);
        let (ad, bc) = (self.multiply(&a, &d)?, self.multiply(&b, &c)?);
        Ok(Complex { real: self.subtract(&ac, &bd)?, imaginary: Some(self.add(&ad, &bc)?) })
    }

    pub(super) fn divide_complex(&mut self, a: &Complex, b: &Complex) -> Result<Complex> {
        if a.imaginary.is_none() && b.imaginary.is_none() {
            return Ok(self.divide(&a.real, &b.real)?.into());
        }
        let (c, d) = b.parts();
        let conjugate = Complex { real: c.clone(), imaginary: Some(d.negated()) };
        let (cc, dd) = (self.power(&c, 2)?, self.power(&d, 2)?);
        let square = self.add(&cc, &dd)?;
        let product = self.multiply_complex(a, &conjugate)?;
        let (real, imaginary) = product.parts();
        Ok(Complex {
            real: self.divide(&real, &square)?,
            imaginary: Some(self.divide(&imaginary, &square)?),
        })
    }

    pub(super) fn power_complex(&mut self, value: &Complex, power: u64) -> Result<Complex> {
        let mut result = Complex::from(Real::from(1));
        let mut square = value.clone();
        let mut rest = power;
        while rest > 0 {
            if rest & 1 == 1 {
                result = self.multiply_complex(&result, &square)?;
            }
            rest >>= 1;
            if rest > 0 {
                square = self.multiply_complex(&square, &square)?;
            }
        }
        Ok(result)
    }

    pub(super) fn modulus(&mut self, value: &Complex) -> Result<Real> {
        let Some(imaginary) = &value.imaginary else { return Ok(value.real.absolute()) };
        let (a, b) = (self.power(&value.real, 2)?, self.power(imaginary, 2)?);
        let square = self.add(&a, &b)?;
        let square = square.absolute();
        self.root(&square, 2)
    }

    /// Returns the principal square root.
    pub(super) fn square_root(&mut self, value: &Complex) -> Result<Complex> {
        let Some(imaginary) = &value.imaginary else {
            if value.real.is_negative() {
                let positive = value.real.negated();
                let root = self.root(&positive, 2)?;
                return Ok(Complex { real: Real::from(0), imaginary: Some(root) });
            }
            return Ok(self.root(&value.real, 2)?.into());
        };
        // √z = √((|z| + x) / 2) ± i √((|z| - x) / 2), with the sign of the imaginary part.
        if imaginary.holds_zero() {
            return Err(Failure::Unclear);
        }
        let positive = imaginary.is_positive();
        let modulus = self.modulus(value)?;
        let two = Real::from(2);
        let above = self.add(&modulus, &value.real)?;
        let above = self.divide(&above, &two)?;
        let below = self.subtract(&modulus, &value.real)?;
        let below = self.divide(&below, &two)?;
        let (above, below) = (above.absolute(), below.absolute());
        let (real, part) = (self.root(&above, 2)?, self.root(&below, 2)?);
        let imaginary = if positive { part } else { part.negated() };
        Ok(Complex { real, imaginary: Some(imaginary) })
    }

    /// Returns `e^(x + iy) = e^x (cos y + i sin y)`.
    pub(super) fn exp_complex(&mut self, value: &Complex) -> Result<Complex> {
        let size = self.exp(&value.real)?;
        let Some(angle) = &value.imaginary else { return Ok(size.into()) };
        let (across, up) = (self.cosine(angle)?, self.sine(angle)?);
        Ok(Complex {
            real: self.multiply(&size, &across)?,
            imaginary: Some(self.multiply(&size, &up)?),
        })
    }
}
