//! Expressions as they were read: for `explain`, and where there is no normal form.

use crate::expression::Expression;

/// The expression in a notation that reads as the same expression.
pub(super) fn text(value: &Expression) -> String {
    let one = |inner: &Expression| text(inner);
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
        Expression::Function(name, items) => {
            let arguments: Vec<String> = items.iter().map(one).collect();
            super::text::function(name, &arguments)
        }
    }
}
