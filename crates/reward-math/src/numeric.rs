//! The last rung of the ladder: enclosures by interval arithmetic with outward rounding.
//!
//! Disjoint enclosures prove that two values differ. Overlap counts as equality if constants agree to 384
//! bits behind the point, or expressions with variables agree at several random points. No two different answers of moderate size agree
//! that far, and no tolerance is involved.

use dashu::Rational;
use dashu::base::{Abs, BitTest};

mod complex;
mod elementary;
mod evaluate;
mod function;
mod integral;
mod quick;
mod real;
mod series;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::expression::{Expression, binds, is_real};
use crate::verdict::Values;
use complex::Complex;
use real::{Arithmetic, Failure};

/// Precisions at which constants are compared, in bits: most different constants differ at the first.
const CONSTANT_BITS: [usize; 4] = [96, ENOUGH_BITS, 1088, MOST_BITS];
/// Precision at which constants that still overlap count as equal, in bits.
const ENOUGH_BITS: usize = 512;
/// Bits behind the point that two constants must share to count as equal.
const SPARE_BITS: usize = 384;
/// Precision for numbers that are too large for this, in bits.
const MOST_BITS: usize = 4096;
/// Precision at which expressions are compared at a point, in bits.
const POINT_BITS: usize = 192;
/// Precision of integrals and infinite series, in bits; half of them must agree.
const QUADRATURE_BITS: usize = 128;
/// Integrals and infinite series take so much work for a unit of fuel.
const REBATE: u64 = 4;
/// Number of points at which both sides must be defined and overlap.
const POINTS_NEEDED: usize = 5;
/// Number of points tried.
const POINTS_TRIED: u64 = 18;
/// Points needed and points tried for functions with steps.
const STEP_POINTS: (usize, u64) = (40, 60);
/// Attempt from which on coordinates have either sign.
const BOTH_SIGNS: u64 = 9;
/// Bits that must remain at a point when the terms of every sum are aligned.
const SPARE_BITS_AT_POINT: usize = 64;

/// Free variables by their names; true for those that must be integers.
type Variables<'a> = BTreeMap<&'a str, bool>;

/// Result of comparing enclosures.
#[derive(Debug, Clone)]
pub(crate) enum Enclosures {
    /// The enclosures overlap at every precision tried.
    Equal,
    /// Disjoint enclosures at a point; the left side's are those of the response.
    Different(Box<Values>),
    Unknown,
}

/// Compares two expressions by their enclosures, at a cost of `fuel`, in limbs of arithmetic.
pub(crate) fn compare(left: &Expression, right: &Expression, fuel: &mut u64) -> Enclosures {
    // Names are collected and points are chosen before anything is calculated.
    let Some(rest) = fuel.checked_sub(40) else { return Enclosures::Unknown };
    *fuel = rest;
    let variables = variables_of([left, right]);
    if variables.is_empty() {
        constants(left, right, fuel)
    } else {
        functions(left, right, &variables, fuel)
    }
}

fn variables_of(sides: [&Expression; 2]) -> Variables<'_> {
    let mut variables = Variables::new();
    for side in sides {
        side.each_variable(false, &mut |name, whole| *variables.entry(name).or_default() |= whole);
    }
    variables
}

/// Returns true if two expressions certainly differ at the first point of [`compare`], which proves what this sees.
pub(crate) fn certainly_differ(left: &Expression, right: &Expression) -> bool {
    let variables = variables_of([left, right]);
    let sampling =
        Sampling { variables: &variables, steps: false, bars: false, reach: Rational::ONE };
    let near = |(name, value): (_, Rational)| (name, value.to_f64_fast());
    let point: Vec<(&str, f64)> = sampling.point(0).into_iter().map(near).collect();
    quick::apart(left, right, &point)
}

/// Returns true if an integral or infinite series occurs, whose enclosure does not become narrower with the precision.
fn is_limit(expression: &Expression) -> bool {
    let endless = |parts: &[Expression]| parts.iter().any(|part| part.is_symbol("\\infty"));
    expression.any(&|node| {
        matches!(node, Expression::Function(name, parts)
            if name == "int" || binds(name) && endless(parts))
    })
}

/// Encloses two constants at rising precision, until `decide` has decided; `None` if it cannot.
fn refined<T>(
    sides: [&Expression; 2],
    fuel: &mut u64,
    decide: impl Fn(Complex, Complex, &mut Arithmetic) -> Option<T>,
) -> Option<T> {
    let limit = sides.into_iter().any(is_limit);
    let precisions = if limit { &[QUADRATURE_BITS][..] } else { &CONSTANT_BITS };
    let rebate = if limit { REBATE } else { 1 };
    for &bits in precisions {
        let mut arithmetic = Arithmetic::new(bits, fuel.saturating_mul(rebate));
        let enclosed = sides.map(|side| evaluate::evaluate(side, &[], &mut arithmetic));
        *fuel = arithmetic.fuel / rebate;
        match enclosed {
            [Ok(a), Ok(b)] => {
                let decision = decide(a, b, &mut arithmetic);
                *fuel = arithmetic.fuel / rebate;
                if decision.is_some() {
                    return decision;
                }
            }
            [Err(Failure::Unclear), _] | [_, Err(Failure::Unclear)] if bits < MOST_BITS => {}
            _ => return None,
        }
    }
    None
}

/// Returns the order of two constants, if their enclosures decide it.
pub(crate) fn order(left: &Expression, right: &Expression, fuel: &mut u64) -> Option<Ordering> {
    let order = refined([left, right], fuel, |a, b, arithmetic| {
        let (Ok(a), Ok(b)) = (a.into_real(), b.into_real()) else { return Some(None) };
        if a.is_below(&b) {
            Some(Some(Ordering::Less))
        } else if b.is_below(&a) {
            Some(Some(Ordering::Greater))
        } else {
            (arithmetic.bits >= ENOUGH_BITS).then_some(None)
        }
    });
    order.flatten()
}

/// Returns true if a constant is proven to lie within `unit` of a number.
pub(crate) fn is_within(
    value: &Expression,
    number: &Rational,
    unit: &Rational,
    fuel: &mut u64,
) -> bool {
    let (low, high) = (Expression::Number(number - unit), Expression::Number(number + unit));
    order(&low, value, fuel) == Some(Ordering::Less)
        && order(value, &high, fuel) == Some(Ordering::Less)
}

fn constants(left: &Expression, right: &Expression, fuel: &mut u64) -> Enclosures {
    let comparison = refined([left, right], fuel, |a, b, arithmetic| {
        if a.is_apart(&b) {
            return Some(different(&a, &b, &[]));
        }
        if a.is_exact() && b.is_exact() {
            return Some(Enclosures::Equal);
        }
        if arithmetic.bits == QUADRATURE_BITS {
            let narrow = a.are_narrow_with(&b, arithmetic)
                && arithmetic.spread + SPARE_BITS_AT_POINT <= QUADRATURE_BITS;
            return narrow.then_some(Enclosures::Equal);
        }
        if arithmetic.bits < ENOUGH_BITS {
            return None;
        }
        // For a large number the digits before the point must be covered too, for a sum its smallest term.
        let wanted = a.bits_before_point().max(arithmetic.spread).saturating_add(SPARE_BITS);
        if wanted > arithmetic.bits {
            return (wanted > MOST_BITS).then_some(Enclosures::Unknown);
        }
        let narrow = a.are_narrow_with(&b, arithmetic);
        Some(if narrow { Enclosures::Equal } else { Enclosures::Unknown })
    });
    comparison.unwrap_or(Enclosures::Unknown)
}

fn different(left: &Complex, right: &Complex, point: &[(&str, Rational)]) -> Enclosures {
    let point = point.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    let (response, ground_truth) = (left.ends(), right.ends());
    Enclosures::Different(Box::new(Values { point, response, ground_truth }))
}

fn functions(
    left: &Expression,
    right: &Expression,
    variables: &Variables<'_>,
    fuel: &mut u64,
) -> Enclosures {
    let limit = is_limit(left) || is_limit(right);
    let (bits, rebate) = if limit { (QUADRATURE_BITS, REBATE) } else { (POINT_BITS, 1) };
    let mut arithmetic = Arithmetic::new(bits, fuel.saturating_mul(rebate));
    // Of a value that jumps a few points prove little.
    let steps = [left, right].iter().any(|side| side.calls("floor ceil mod gcd lcm max min"));
    let (needed, tried) = if steps { STEP_POINTS } else { (POINTS_NEEDED, POINTS_TRIED) };
    // `|x|` equals `x` for the positive values that competition problems assume.
    let bars = left.calls("abs") || right.calls("abs");
    let reach = if bars { largest(left).max(largest(right)) } else { Rational::ONE };
    let sampling = Sampling { variables, steps, bars, reach };
    let (mut agreed, mut one_sided) = (0, 0);
    let mut skipped = 0;
    for attempt in 0.. {
        if attempt >= tried + skipped {
            break;
        }
        let mixed = sampling.is_mixed(attempt);
        arithmetic.only_real = mixed;
        let point = sampling.point(attempt);
        let enclosed = [left, right].map(|side| evaluate::evaluate(side, &point, &mut arithmetic));
        *fuel = arithmetic.fuel / rebate;
        match enclosed {
            [Ok(a), Ok(b)] => {
                if a.is_apart(&b) {
                    return different(&a, &b, &point);
                }
                if !a.are_narrow_with(&b, &mut arithmetic)
                    || arithmetic.spread + SPARE_BITS_AT_POINT > bits
                {
                    continue;
                }
                agreed += 1;
                if agreed == needed {
                    // Defined on one side only at as many points as on both: the domains differ.
                    return if one_sided >= needed {
                        Enclosures::Unknown
                    } else {
                        Enclosures::Equal
                    };
                }
            }
            // The next point may have no such root.
            [Err(Failure::Ambiguous), _] | [_, Err(Failure::Ambiguous)] => {
                skipped += u64::from(skipped < tried);
            }
            [Err(Failure::Unknown), _] | [_, Err(Failure::Unknown)] if mixed || bars => {}
            [Err(Failure::Unknown | Failure::OutOfFuel), _]
            | [_, Err(Failure::Unknown | Failure::OutOfFuel)] => {
                return Enclosures::Unknown;
            }
            [Ok(_), Err(Failure::Undefined | Failure::NotReal)]
            | [Err(Failure::Undefined | Failure::NotReal), Ok(_)]
                if !mixed =>
            {
                one_sided += 1;
            }
            _ => {}
        }
    }
    Enclosures::Unknown
}

/// Choice of the points at which two functions are compared.
struct Sampling<'a> {
    variables: &'a Variables<'a>,
    /// True if a value jumps.
    steps: bool,
    /// True if an absolute value occurs: points with positive coordinates alone are left out.
    bars: bool,
    /// The largest number in sight: `|x + 1000|` bends far from 0.
    reach: Rational,
}

impl<'a> Sampling<'a> {
    /// Returns true if coordinates have either sign and only real values count: `\sqrt{x^2}` is not `x`, but
    /// `\sqrt{ab}` may be a product of roots.
    fn is_mixed(&self, attempt: u64) -> bool {
        !self.steps && !self.bars && attempt % 2 == 1
    }

    fn point(&self, attempt: u64) -> Vec<(&'a str, Rational)> {
        let coordinate = |(index, (name, whole)): (u64, (&&'a str, &bool))| {
            (*name, self.value(attempt, index, name, *whole))
        };
        (0..).zip(self.variables).map(coordinate).collect()
    }

    fn value(&self, attempt: u64, index: u64, name: &str, is_integer: bool) -> Rational {
        if self.steps {
            return stepwise_coordinate(attempt, index, name);
        }
        let mixed = self.is_mixed(attempt);
        let place = if self.bars { attempt } else { attempt / 2 };
        let place = if self.bars || mixed { place + BOTH_SIGNS } else { place };
        let far = self.bars && attempt.is_multiple_of(2);
        let scale = if far { self.reach.clone() } else { Rational::ONE };
        let value = coordinate(place, index, is_integer) * scale;
        let value = if mixed && !is_real(name) { value.abs() } else { value };
        if is_integer { of_both_parities(&value, attempt, index, name) } else { value }
    }
}

/// Returns the largest number in an expression, at least 1.
fn largest(expression: &Expression) -> Rational {
    let here = expression.literal().unwrap_or_default().abs().max(Rational::ONE);
    expression.parts().map(largest).fold(here, Rational::max)
}

/// Returns a coordinate for a function with steps: integers in turn; for real variables also values between them.
fn stepwise_coordinate(attempt: u64, index: u64, name: &str) -> Rational {
    let integer = i64::try_from((attempt * (7 * index + 1) + 5 * index) % 61 + 1).unwrap_or(1);
    if is_real(name) {
        return Rational::from_parts((7 * integer - 100).into(), 9_u8.into());
    }
    Rational::from(integer)
}

/// Returns a coordinate of a point, equal on every machine for equal attempt and index.
///
/// It is positive at first, as competition problems assume, later of either sign.
fn coordinate(attempt: u64, index: u64, whole: bool) -> Rational {
    // SplitMix64 of attempt and index.
    let mut state = attempt
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((index + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 31;
    if whole {
        // Later points reach further; index separates n and k, with n mostly the larger.
        return Rational::from(2 + attempt / 2 + state % 5);
    }
    // An odd number over a power of 2 is exact, and no fraction of an answer.
    let size = i64::try_from((state % 960) | 1).unwrap_or_default() + 32;
    // The first points lie in (0, 1), where most functions are defined; then up to 8 and on both sides of 0.
    let bottom = if attempt < 4 { 1024 } else { 128 };
    // The first point on both sides of 0 is negative in every coordinate.
    let negative = attempt == BOTH_SIGNS || attempt > BOTH_SIGNS && state & (1 << 40) == 0;
    Rational::from_parts_signed((if negative { -size } else { size }).into(), bottom.into())
}

/// Makes an integer coordinate even or odd in turn, so that no power of -1 goes unnoticed.
///
/// All combinations with a second coordinate occur. `n`, the number chosen from, is the larger at two points of three.
fn of_both_parities(value: &Rational, attempt: u64, index: u64, name: &str) -> Rational {
    let value = match (name, attempt % 3) {
        // Beyond twice the number chosen: `\frac{(n - k)!}{k!(n - 2k)!}`
        ("n" | "N", 0) => value.trunc() * 2 + 8,
        ("n" | "N", 1) => value.trunc() + 6,
        _ => value.trunc(),
    };
    let odd = (attempt >> (index % 2)) & 1 == 1;
    Rational::from(if value.bit(0) == odd { value } else { value + 1 })
}
