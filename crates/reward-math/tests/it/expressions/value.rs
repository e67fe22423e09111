//! Values of the tests' expressions: complex numbers in double precision.

use super::tree::{Function, Random, Tree};

/// Values of `x`, `y` and `a`.
pub(crate) type Point = [f64; 3];

/// A complex number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value(pub(crate) f64, pub(crate) f64);

impl Value {
    pub(crate) fn times(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }

    fn inverse(self) -> Option<Self> {
        let square = self.0 * self.0 + self.1 * self.1;
        (square > 1e-12).then(|| Self(self.0 / square, -self.1 / square))
    }

    pub(crate) fn size(self) -> f64 {
        self.0.hypot(self.1)
    }
}

/// Returns the value, and the size of the largest intermediate value, which bounds the rounding error.
///
/// Returns `None` if there is no value, or a pole is too near.
#[expect(clippy::too_many_lines, reason = "one strategy a kind of node")]
pub(crate) fn evaluate(tree: &Tree, point: &Point) -> Option<(Value, f64)> {
    let (value, size) = match tree {
        Tree::Number(value) => (Value(*value as f64, 0.0), 0.0),
        Tree::Decimal(value, places) => {
            (Value(*value as f64 / 10_f64.powi(i32::try_from(*places).ok()?), 0.0), 0.0)
        }
        Tree::Variable(name) => {
            let index = match name {
                'x' => 0,
                'y' => 1,
                _ => 2,
            };
            (Value(point[index], 0.0), 0.0)
        }
        Tree::Pi => (Value(std::f64::consts::PI, 0.0), 0.0),
        Tree::Imaginary => (Value(0.0, 1.0), 0.0),
        Tree::Factorial(n) => (Value((1..=*n).map(|k| k as f64).product(), 0.0), 0.0),
        Tree::Binomial(n, k) => {
            let value = (1..=*k).map(|j| (n - k + j) as f64 / j as f64).product();
            (Value(value, 0.0), 0.0)
        }
        Tree::Sum(items) => {
            let (mut sum, mut size) = (Value(0.0, 0.0), 0.0_f64);
            for item in items {
                let (value, item_size) = evaluate(item, point)?;
                sum = Value(sum.0 + value.0, sum.1 + value.1);
                size = size.max(item_size);
            }
            (sum, size)
        }
        Tree::Product(items) => {
            let (mut product, mut size) = (Value(1.0, 0.0), 0.0_f64);
            for item in items {
                let (value, item_size) = evaluate(item, point)?;
                product = product.times(value);
                size = size.max(item_size);
            }
            (product, size)
        }
        Tree::Negative(inner) => {
            let (value, size) = evaluate(inner, point)?;
            (Value(-value.0, -value.1), size)
        }
        Tree::Quotient(top, bottom) => {
            let ((a, a_size), (b, b_size)) = (evaluate(top, point)?, evaluate(bottom, point)?);
            // A small difference of large terms consists of rounding errors.
            if b.size() < 1e-6 * b_size.max(1.0) {
                return None;
            }
            (a.times(b.inverse()?), a_size.max(b_size))
        }
        Tree::Power(base, exponent) => {
            let (base, size) = evaluate(base, point)?;
            if *exponent <= 0 && base.size() < 1e-6 * size.max(1.0) {
                return None;
            }
            let factor = if *exponent < 0 { base.inverse()? } else { base };
            let power = (0..exponent.unsigned_abs()).fold(Value(1.0, 0.0), |p, _| p.times(factor));
            (power, size)
        }
        Tree::Root(inner, index) => {
            let (inner, size) = evaluate(inner, point)?;
            if inner.1.abs() > 0.0 || inner.0 <= 0.0 {
                return None;
            }
            (Value(inner.0.powf(1.0 / f64::from(*index)), 0.0), size)
        }
        Tree::Of(function, inner) => {
            let (inner, size) = evaluate(inner, point)?;
            if inner.1.abs() > 0.0 || inner.0.abs() > 30.0 {
                return None;
            }
            let value = match function {
                Function::Sine => inner.0.sin(),
                Function::Cosine => inner.0.cos(),
                Function::Tangent if inner.0.cos().abs() > 1e-3 => inner.0.tan(),
                Function::Logarithm if inner.0 > 1e-6 => inner.0.ln(),
                Function::Exponential => inner.0.exp(),
                Function::Absolute => inner.0.abs(),
                Function::Tangent | Function::Logarithm => return None,
            };
            (Value(value, 0.0), size)
        }
    };
    let size = size.max(value.size());
    size.is_finite().then_some((value, size))
}

/// Returns true if two expressions have equal values at a point; `None` if rounding or a pole hides it.
pub(crate) fn agree(left: &Tree, right: &Tree, point: &Point) -> Option<bool> {
    let ((a, a_size), (b, b_size)) = (evaluate(left, point)?, evaluate(right, point)?);
    let difference = Value(a.0 - b.0, a.1 - b.1).size();
    let scale = a_size.max(b_size).max(1.0);
    if difference <= 1e-11 * scale {
        return Some(true);
    }
    // Differences between the rounding error and a certain difference are undecided.
    let apart = difference > 1e-7 * a.size().max(b.size()) && difference > 1e-9 * scale;
    apart.then_some(false)
}

/// Returns true if both have values at a point, and these agree in twelve digits: `12/1114269` is not `12/1114271`.
pub(crate) fn coincide(left: &Tree, right: &Tree, point: &Point) -> bool {
    let (Some((a, _)), Some((b, _))) = (evaluate(left, point), evaluate(right, point)) else {
        return false;
    };
    Value(a.0 - b.0, a.1 - b.1).size() <= 1e-12 * a.size().max(b.size())
}

/// Generates points with positive variables, or with variables of either sign.
pub(crate) fn points(count: usize, positive: bool, random: &mut Random) -> Vec<Point> {
    let coordinate = |random: &mut Random| {
        let size = random.real(0.3, 2.7);
        if positive || random.one_in(2) { size } else { -size }
    };
    (0..count).map(|_| [coordinate(random), coordinate(random), coordinate(random)]).collect()
}
