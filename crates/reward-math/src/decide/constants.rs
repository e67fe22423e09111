//! Constants of integration: other names, multiples, sums and differences of them.

use dashu::{Integer, Rational};

use super::{Comparison, Result};
use crate::answer::{Node, orders};
use crate::expression::Expression;

impl Comparison {
    /// Returns true for the same functions with other constants of integration.
    pub(super) fn same_solutions(&mut self, a: &Expression, b: &Expression) -> Result<bool> {
        // In a rational function `C` may be a number of the problem.
        let free = !a.is_rational_function();
        Ok(self.differ_by_constant(a, b)?
            || free && (self.rescaled(a, b)? || self.is_wave(a, b)? || self.is_wave(b, a)?))
    }

    /// Returns true for `-\cos^2 x + C` and `\sin^2 x + C`: the constant may hold any number.
    fn differ_by_constant(&mut self, a: &Expression, b: &Expression) -> Result<bool> {
        // The terms beside the constant, and their only variable.
        let split = |side: &Expression| {
            let Expression::Sum(terms) = side else { return None };
            // A small letter may be a number of the problem.
            let constant =
                |term: &Expression| ["C", "C_1", "K", "k"].iter().any(|name| term.is_symbol(name));
            let place = terms.iter().position(constant)?;
            let mut rest = terms.clone();
            rest.remove(place);
            let rest = Expression::sum(rest);
            let names = rest.variables();
            let usual =
                names.iter().find(|name| names.len() == 1 || matches!(name.as_str(), "x" | "t"));
            let name = usual.filter(|name| *name != "C")?.clone();
            Some((rest, name))
        };
        if a.calls("abs") != b.calls("abs") {
            return Ok(false);
        }
        let (Some((left, name)), Some((right, other))) = (split(a), split(b)) else {
            return Ok(false);
        };
        let here = Expression::Number(Rational::from_parts(Integer::from(3), 7_u8.into()));
        let rise = |side: &Expression| side.clone() - side.with(&name, &here);
        Ok(name == other && self.expressions(&rise(&left), &rise(&right))?.0)
    }

    /// Returns true for the values of `y = x + \frac Cx` and `y = \frac{2x^2 + C}{2x}`, of which `C` is the only constant.
    pub(super) fn rescaled_solution(&mut self, left: &Node, right: &Node) -> Result<bool> {
        match (left.plain(), right.plain()) {
            (Some(left), Some(right)) if left.holds("C") && right.holds("C") => {
                self.rescaled(left, right)
            }
            _ => Ok(false),
        }
    }

    /// Returns true for `\frac{Ce^{3x} - 1}{3}` and `Ce^{3x} - \frac13`: a multiple of a constant of integration is one.
    fn rescaled(&mut self, left: &Expression, right: &Expression) -> Result<bool> {
        const FACTORS: [i64; 12] = [1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8];
        let names = left.variables();
        let usual = |name: &&String| matches!(name.as_str(), "x" | "t");
        let constant = names.iter().find(|name| matches!(name.as_str(), "C" | "c" | "C_1" | "K"));
        let Some(name) = constant.filter(|_| names.len() == 2 && names.iter().any(|n| usual(&n)))
        else {
            return Ok(false);
        };
        if names != right.variables() {
            return Ok(false);
        }
        for factor in FACTORS {
            let (factor, symbol) = (Expression::integer(factor), Expression::symbol(name));
            for scaled in [factor.clone() * symbol.clone(), symbol / factor] {
                if self.expressions(&left.with(name, &scaled), right)?.0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns true for `R\cos(3t - \varphi)` and `c_1\cos 3t + c_2\sin 3t`, in names that the other side has not.
    fn is_wave(&mut self, side: &Expression, other: &Expression) -> Result<bool> {
        let (names, others) = (side.variables(), other.variables());
        let free: Vec<&String> = names.difference(&others).collect();
        let constants: Vec<&String> = others.difference(&names).collect();
        let ([a, b], [c, d]) = (&free[..], &constants[..]) else { return Ok(false) };
        if !side.calls("cos sin") || ![c, d].into_iter().all(|name| is_constant(name)) {
            return Ok(false);
        }
        let [c, d] = [c, d].map(|name| Expression::symbol(name));
        for (amplitude, phase) in [(a, b), (b, a)] {
            let angles =
                [Expression::integer(0), Expression::symbol("\\pi") / Expression::integer(2)];
            let [first, second] = angles
                .map(|angle| side.with(amplitude, &Expression::integer(1)).with(phase, &angle));
            let sum =
                |a: &Expression, b: Expression| a.clone() * first.clone() + b * second.clone();
            let part = |name| {
                Expression::symbol(amplitude)
                    * Expression::function(name, [Expression::symbol(phase)])
            };
            let wave = self.expressions(side, &sum(&part("cos"), part("sin")))?.0;
            for (c, d) in [(&c, d.clone()), (&c, -d.clone()), (&d, c.clone()), (&d, -c.clone())] {
                if wave && self.expressions(&sum(c, d), other)?.0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Renames the constants of integration of the left side as on the right, in each order, if only their names differ.
pub(super) fn with_same_constants(left: &Expression, right: &Expression) -> Vec<Expression> {
    const MOST: usize = 4;
    let (left_names, right_names) = (left.variables(), right.variables());
    let mut from: Vec<&String> = left_names.difference(&right_names).collect();
    let mut to: Vec<&String> = right_names.difference(&left_names).collect();
    // `C_1` and `C_2` in exchanged places.
    let exchanged = from.is_empty() && to.is_empty();
    if exchanged {
        let listed = |name: &&String| name.starts_with("C_") || name.starts_with("c_");
        from = left_names.iter().filter(listed).filter(|name| is_constant(name)).collect();
        to.clone_from(&from);
    }
    let numbered = |names: &[&String]| names.iter().all(|name| name.contains('_'));
    // `A\cos x + B\sin x`: a general solution has functions of a variable.
    let general = left_names.iter().any(|name| !is_constant(name)) && !left.is_rational_function();
    let fits = match (from.as_slice(), to.as_slice()) {
        ([from], [to]) => {
            left_names.len() > 1
                && (is_added(left, from) && is_added(right, to)
                    || general && !numbered(&[*from, *to])
                    || [from, to].iter().any(|name| matches!(name.as_str(), "C" | "C_1"))
                        && left_names
                            .iter()
                            .all(|name| name == *from || !name.starts_with(char::is_uppercase)))
        }
        (from, to) => {
            from.len() == to.len()
                && from.len() <= MOST
                && (general || !exchanged && (numbered(from) || numbered(to)))
        }
    };
    if from.is_empty() || !fits || !from.iter().chain(&to).all(|name| is_constant(name)) {
        return Vec::new();
    }
    let renamed = |order: Vec<&String>| {
        left.substituted(&|name| {
            let position = from.iter().position(|known| *known == name)?;
            Some(Expression::Symbol(order[position].clone()))
        })
    };
    // All orders of four would cost too much.
    let orders = if to.len() < MOST { orders(&to) } else { vec![to.clone()] };
    let mut all: Vec<Expression> = orders.into_iter().map(renamed).collect();
    // `x - Ke^{-x}` and `x + Ce^{-x}`
    if let ([from], [to]) = (from.as_slice(), to.as_slice()) {
        all.push(left.with(from, &-Expression::symbol(to)));
    }
    if general {
        all.extend(with_sums(left, &from, &to));
    }
    all
}

/// Returns `C_1 e^x + C_2 e^{-x}` for `A\cosh x + B\sinh x`: with the sum and difference of two constants, or halves of these.
fn with_sums(left: &Expression, from: &[&String], to: &[&String]) -> Vec<Expression> {
    let ([first, second], [a, b]) = (from, to) else { return Vec::new() };
    let [a, b] = [a, b].map(|name| Expression::symbol(name));
    let sum = a.clone() + b.clone();
    let differences = [a.clone() - b.clone(), b - a];
    let pairs = differences.iter().flat_map(|one| [(one, 1), (one, 2)]);
    let renamed = pairs.map(|(difference, parts)| {
        let part = |whole: &Expression| whole.clone() / Expression::integer(parts);
        left.substituted(&|name| match name {
            name if name == *first => Some(part(&sum)),
            name if name == *second => Some(part(difference)),
            _ => None,
        })
    });
    renamed.collect()
}

/// Returns true for the usual names of constants of integration.
fn is_constant(name: &str) -> bool {
    let (letter, index) = name.split_once('_').unwrap_or((name, "0"));
    matches!(letter, "C" | "K" | "c" | "k" | "A" | "B" | "D")
        && index.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a summand, as integration leaves it.
fn is_added(expression: &Expression, name: &str) -> bool {
    matches!(expression, Expression::Sum(items) if items.iter().any(|item| item.is_symbol(name)))
}
