//! Expressions as they were read: for `explain`, and where there is no normal form.

use crate::expression::{Expression, Range};

/// The expression in a notation that reads as the same expression; `plus` is the sign that every `±` in it takes.
pub(super) fn text(value: &Expression, plus: bool) -> String {
    let one = |inner: &Expression| text(inner, plus);
    let all = |items: &[Expression], separator: &str| {
        items.iter().map(one).collect::<Vec<_>>().join(separator)
    };
    match value {
        Expression::Number(number) if number.is_int() => number.to_string(),
        Expression::Number(number) => format!("({number})"),
        Expression::Symbol(name) if name == "\\ldots" => "\\ldots ".to_owned(),
        Expression::Symbol(name) => super::text::symbol(name),
        Expression::Sum(items) => format!("({})", all(items, " + ")),
        Expression::Product(items) => format!("({})", all(items, "*")),
        Expression::Negative(inner) => match &**inner {
            // The lower end of an interval.
            Expression::Symbol(_) => format!("-{}", one(inner)),
            _ => format!("(-{})", one(inner)),
        },
        Expression::Quotient(top, bottom) => format!("\\frac{{{}}}{{{}}}", one(top), one(bottom)),
        Expression::Power(base, exponent) => format!("({})^{{{}}}", one(base), one(exponent)),
        Expression::Root(inner, 2) => format!("\\sqrt{{{}}}", one(inner)),
        Expression::Root(inner, index) => format!("\\sqrt[{index}]{{{}}}", one(inner)),
        Expression::Absolute(inner) => format!("abs({})", one(inner)),
        Expression::Factorial(inner) => format!("({})!", one(inner)),
        Expression::Binomial(n, k) => format!("\\binom{{{}}}{{{}}}", one(n), one(k)),
        Expression::Logarithm(None, inner) => format!("\\ln({})", one(inner)),
        Expression::Logarithm(Some(base), inner) => {
            format!("\\log_{{{}}}({})", one(base), one(inner))
        }
        Expression::Function(name, items) => {
            let arguments: Vec<String> = items.iter().map(one).collect();
            super::text::function(name, &arguments)
        }
        Expression::Degrees(inner) => format!("({})^\\circ ", one(inner)),
        Expression::PlusMinus(inner, flipped) => {
            format!("({}{})", if plus == *flipped { "-" } else { "" }, one(inner))
        }
        Expression::Series { range, index, low, high, body } => {
            let name = if *range == Range::Sum { "sum" } else { "prod" };
            let (low, high) = (one(low), one(high));
            format!("\\{name}_{{{index} = {low}}}^{{{high}}} ({})", one(body))
        }
    }
}
