//! Sums and products with dots between their terms: `1 + 2 + 2^2 + \cdots + 2^{n-1}`, `2 \cdot 4 \cdots (2n)`.

use std::collections::BTreeSet;

use dashu::Rational;

use crate::algebra::{Algebra, constant};
use crate::expression::Expression;

/// Most terms before the dots.
const MOST: usize = 32;
/// Largest index of a last term that is looked for.
const MOST_COUNTED: i64 = 512;
/// Fuel for each comparison of a term with the pattern of the last.
const FUEL: u64 = 2000;
/// Values of the index at which the first term may stand.
const FIRST: std::ops::RangeInclusive<i64> = -3..=5;

/// Returns the "sum" or "prod" of all terms; `None` if those before the dots do not follow the pattern of the last.
pub(super) fn written_out(name: &str, terms: &[Expression]) -> Option<Expression> {
    if let Some(factorial) = factorial(terms).filter(|_| name == "prod") {
        return Some(factorial);
    }
    let (last, others) = terms.split_last()?;
    let before = before_dots(others, 2)?;
    let names: BTreeSet<String> = terms.iter().flat_map(Expression::variables).collect();
    let index = ["k", "j", "l", "r"].into_iter().find(|name| !names.contains(*name))?;
    let varies = |name: &&str| last.holds(name) && !before.iter().any(|term| term.holds(name));
    let up_to = |end: Expression, term: Expression| {
        let start = FIRST.into_iter().find(|start| follows((index, &term), before, *start))?;
        Some(series(name, index, (start, end), term))
    };
    if let Some(end) = ["n", "N", "m", "k"].into_iter().find(varies) {
        return up_to(Expression::symbol(end), last.renamed(end, index));
    }
    let numbers: Option<Vec<Rational>> = before.iter().chain([last]).map(constant).collect();
    let Some(numbers) = numbers else {
        // `1 + x + x^2 + \cdots + x^9`: the largest number in the last term counts.
        let is = |end: i64| move |node: &Expression| node.as_integer() == Some(end);
        let end = (2..=MOST_COUNTED).rev().find(|end| last.any(&is(*end)))?;
        let term = last.replaced(&|node| is(end)(node).then(|| Expression::symbol(index)));
        return up_to(Expression::integer(end), term);
    };
    let [first, second, .., end] = numbers.as_slice() else { return None };
    // An arithmetic progression, or a geometric one: of `1 + 2 + \cdots + 1024` nobody knows which.
    let step = second - first;
    let number = Expression::Number;
    let linear = number(first.clone()) + number(step.clone()) * Expression::symbol(index);
    let count = (!step.is_zero()).then(|| (end - first) / &step).filter(Rational::is_int);
    let count = count.filter(|count| *count > Rational::from(before.len() as u64 - 1))?;
    let even = before.len() > 2 || name == "prod" || !is_power(second, first, end);
    (even && follows((index, &linear), before, 0))
        .then(|| series(name, index, (0, number(count)), linear))
}

/// Returns `n!` for the factors of `n(n - 1)(n - 2) \cdots 2 \cdot 1`.
fn factorial(factors: &[Expression]) -> Option<Expression> {
    let dots = factors.iter().position(|factor| factor.is_symbol("\\ldots"))?;
    let (before, behind) = (&factors[..dots], &factors[dots + 1..]);
    let mut ends = (1..=MOST_COUNTED).zip(behind.iter().rev());
    let counts_down =
        !behind.is_empty() && ends.all(|(end, factor)| factor.as_integer() == Some(end));
    let first = before.first().filter(|first| counts_down && first.has_variable())?;
    let index = ["k", "j", "l", "r"].into_iter().find(|name| !first.holds(name))?;
    let factor = first.clone() - Expression::symbol(index);
    let descends = (2..=MOST).contains(&before.len()) && follows((index, &factor), before, 0);
    descends.then(|| Expression::function("factorial", [first.clone()]))
}

/// Returns true for `\sum_{n=0}^\infty \frac{x^n}{n!}` and `1 + x + \frac{x^2}{2!} + \cdots`: the terms begin the series.
pub(crate) fn begins_with(series: &Expression, terms: &Expression) -> bool {
    const FEWEST: usize = 3;
    let (Some([Expression::Symbol(index), low, end, body]), Expression::Sum(terms)) =
        (series.arguments_of("sum"), terms)
    else {
        return false;
    };
    end.is_symbol("\\infty")
        && low
            .as_integer()
            .zip(before_dots(terms, FEWEST))
            .is_some_and(|(low, before)| follows((index, body), before, low))
}

/// Returns the terms before dots at the end, if they are not too few and hold no dots themselves.
fn before_dots(terms: &[Expression], fewest: usize) -> Option<&[Expression]> {
    let (dots, before) = terms.split_last()?;
    let dots = if let Expression::Negative(dots) = dots { dots } else { dots };
    let fits = dots.is_symbol("\\ldots")
        && (fewest..=MOST).contains(&before.len())
        && !before.iter().any(|term| term.holds("\\ldots"));
    fits.then_some(before)
}

fn series(name: &str, index: &str, ends: (i64, Expression), term: Expression) -> Expression {
    let low = Expression::integer(ends.0);
    Expression::function(name, [Expression::symbol(index), low, ends.1, term])
}

/// Returns true if the pattern of an index has these terms from `start` on.
fn follows((index, pattern): (&str, &Expression), terms: &[Expression], start: i64) -> bool {
    (0..).zip(terms).all(|(place, term)| {
        let here = pattern.with(index, &Expression::integer(start.saturating_add(place)));
        let mut algebra = Algebra::new(FUEL);
        let mut same = || {
            let (here, term) = (algebra.normalise(&here)?, algebra.normalise(term)?);
            algebra.equal(&here, &term)
        };
        same().unwrap_or(false)
    })
}

/// Returns true if the last number continues a geometric progression.
fn is_power(second: &Rational, first: &Rational, last: &Rational) -> bool {
    const MOST: usize = 256;
    if first.is_zero() {
        return false;
    }
    let ratio = second / first;
    std::iter::successors(Some(second.clone()), |term| Some(term * &ratio))
        .take(MOST)
        .any(|term| term == *last)
}
