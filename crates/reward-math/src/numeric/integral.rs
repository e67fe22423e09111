//! Enclosures of definite integrals of functions that are analytic but at single points, where they are bounded.

use std::sync::LazyLock;

use super::QUADRATURE_BITS;
use super::complex::Complex;
use super::evaluate::{Evaluation, Value};
use super::real::{Arithmetic, Failure, Real, Result};
use crate::expression::Expression;

/// Rules on one panel by their numbers of nodes, which are even: a small panel needs fewer.
static RULES: [(isize, LazyLock<Option<Rule>>); 4] = [
    (10, LazyLock::new(|| of_nodes(10).ok())),
    (20, LazyLock::new(|| of_nodes(20).ok())),
    (30, LazyLock::new(|| of_nodes(30).ok())),
    (40, LazyLock::new(|| of_nodes(40).ok())),
];
/// Precision of the bound, in bits.
const ROUGH_BITS: usize = 64;
/// Bits by which the bound of a panel that is not divided may exceed the values on it.
const SPARE_BITS: isize = 8;
/// Most divisions of a panel; about a point where the function is not analytic, what is left is enclosed as a rectangle.
const MOST_DIVISIONS: u32 = 46;

/// Nodes and weights of Fejér's first rule on [-1, 1].
type Rule = Vec<(Real, Real)>;

/// Returns the rule with the nodes `cos θ`, `θ = (2k - 1) π / 2n`, and the weights `2/n (1 - 2 Σ cos(2jθ) / (4j² - 1))`,
/// `j` up to `n/2`; it is exact up to degree n - 1.
fn of_nodes(nodes: i64) -> Result<Rule> {
    let mut arithmetic = Arithmetic::new(QUADRATURE_BITS + 16, u64::MAX);
    let (count, pi) = (Real::from(nodes), arithmetic.pi()?);
    // All angles are multiples of π / 2n.
    let mut cosine = |multiple: i64| {
        let angle = arithmetic.multiply(&pi, &Real::from(multiple))?;
        let angle = arithmetic.divide(&angle, &count)?.shifted(-1);
        arithmetic.cosine(&angle)
    };
    let cosines = (0..=2 * nodes).map(&mut cosine).collect::<Result<Vec<_>>>()?;
    let cosine_of = |multiple: i64| {
        let turned = multiple.rem_euclid(4 * nodes);
        let place = usize::try_from(turned.min(4 * nodes - turned));
        place.ok().and_then(|place| cosines.get(place)).ok_or(Failure::Unknown)
    };
    let mut node = |k: i64| {
        let mut sum = Real::from(1);
        for j in 1..=nodes / 2 {
            let cosine = cosine_of(2 * j * (2 * k - 1))?.shifted(1);
            let part = arithmetic.divide(&cosine, &Real::from(4 * j * j - 1))?;
            sum = arithmetic.subtract(&sum, &part)?;
        }
        Ok((cosine_of(2 * k - 1)?.clone(), arithmetic.divide(&sum.shifted(1), &count)?))
    };
    (1..=nodes).map(&mut node).collect()
}

/// Returns the smallest rule whose error is below `2^-72` of the largest panel, where this one is smaller by `bits`.
fn rule(bits: isize) -> Option<&'static Rule> {
    let enough = RULES.iter().find(|(nodes, _)| 2 * nodes + bits >= 76);
    enough.or(RULES.last())?.1.as_ref()
}

impl<'b> Evaluation<'_, 'b> {
    /// Encloses `\int_a^b f`.
    ///
    /// Let |f| ≤ M on the ellipse with the ends of a panel as foci and ρ half-widths h as the sum of its semi-axes. The
    /// coefficients of its Chebyshev series are at most 2M/ρᵏ (Bernstein). The rule of n nodes is exact below degree n
    /// and has positive weights, so its error is at most h Σ 2M/ρᵏ · 4 over k ≥ n, less than 11 h M / ρⁿ for ρ = 4.
    pub(super) fn integral(
        &mut self,
        variable: &'b str,
        ends: [&'b Expression; 2],
        body: &'b Expression,
    ) -> Result<Complex> {
        let [low, high] = ends.map(|end| self.real(end));
        let spread = self.arithmetic.spread;
        let mut total = Complex::from(Real::from(0));
        // Bounds are cheap: all of them come before the values.
        let (mut panels, mut bounded) = (vec![(low?, high?, 0)], Vec::new());
        while let Some((low, high, divisions)) = panels.pop() {
            let middle = self.arithmetic.add(&low, &high)?.shifted(-1);
            let half = self.arithmetic.subtract(&high, &low)?.shifted(-1);
            match self.bound(variable, body, &middle, &half) {
                Ok((bound, value)) if bound.size() <= value.size().max(0) + SPARE_BITS => {
                    bounded.push((middle, half, bound));
                }
                Ok(_) | Err(Failure::Unclear | Failure::Undefined)
                    if divisions < MOST_DIVISIONS =>
                {
                    panels.push((low, middle.clone(), divisions + 1));
                    panels.push((middle, high, divisions + 1));
                }
                Ok(_) | Err(Failure::Unclear | Failure::Undefined) => {
                    let value =
                        self.with(body, variable, Value::Enclosed(low.hull(&high).into()))?;
                    let part = self.arithmetic.multiply_complex(&half.shifted(1).into(), &value)?;
                    total = self.arithmetic.add_complex(&total, &part)?;
                }
                Err(failure) => return Err(failure),
            }
        }
        let size = |bound: &Real, half: &Real| bound.size().saturating_add(half.size());
        let largest = bounded.iter().map(|(_, half, bound)| size(bound, half)).max();
        // Parts may cancel.
        let largest = largest.unwrap_or_default();
        self.arithmetic.least = self.arithmetic.least.max(largest - SPARE_BITS);
        for (middle, half, bound) in &bounded {
            let rule = rule(largest.saturating_sub(size(bound, half))).ok_or(Failure::Unknown)?;
            let part = self.panel(variable, body, [middle, half], bound, rule)?;
            total = self.arithmetic.add_complex(&total, &part)?;
        }
        // Terms without effect are an error of known size here.
        self.arithmetic.spread = spread;
        Ok(total)
    }

    /// Returns bounds of |f| on the ellipse about a panel and on the panel, or a failure if f may not be analytic.
    fn bound(
        &mut self,
        variable: &'b str,
        body: &'b Expression,
        middle: &Real,
        half: &Real,
    ) -> Result<(Real, Real)> {
        let mut rough = Arithmetic::new(ROUGH_BITS, self.arithmetic.fuel);
        rough.analytic = true;
        // The semi-axes (ρ ± 1/ρ)/2 of ρ = 4 are 17/8 and 15/8.
        let reach = half.both_signs();
        let axis = |eighths: i64, rough: &mut Arithmetic| {
            Ok::<_, Failure>(rough.multiply(&reach, &Real::from(eighths))?.shifted(-3))
        };
        let (across, imaginary) = (axis(17, &mut rough)?, axis(15, &mut rough)?);
        let about = Complex { real: rough.add(middle, &across)?, imaginary };
        let on = rough.add(middle, &reach)?.into();
        let point = self.point.clone();
        let mut bound = |at| {
            let mut evaluation = Evaluation { point: point.clone(), arithmetic: &mut rough };
            let value = evaluation.with(body, variable, Value::Enclosed(at))?;
            rough.modulus(&value)
        };
        let bounds = bound(about).and_then(|about| Ok((about, bound(on)?)));
        self.arithmetic.fuel = rough.fuel;
        bounds
    }

    fn panel(
        &mut self,
        variable: &'b str,
        body: &'b Expression,
        [middle, half]: [&Real; 2],
        bound: &Real,
        rule: &Rule,
    ) -> Result<Complex> {
        let mut sum = Complex::from(Real::from(0));
        for (node, weight) in rule {
            let moved = self.arithmetic.multiply(half, node)?;
            let place = self.arithmetic.add(middle, &moved)?;
            let value = self.with(body, variable, Value::Enclosed(place.into()))?;
            let part = self.arithmetic.multiply_complex(&value, &weight.clone().into())?;
            sum = self.arithmetic.add_complex(&sum, &part)?;
        }
        let error = self.arithmetic.multiply(bound, &Real::from(11))?;
        // ρⁿ is 2^2n.
        let error = error.shifted(-2 * rule.len().cast_signed()).both_signs();
        let imaginary = if sum.is_real() { Real::from(0) } else { error.clone() };
        sum = self.arithmetic.add_complex(&sum, &Complex { real: error, imaginary })?;
        self.arithmetic.multiply_complex(&sum, &half.clone().into())
    }
}
