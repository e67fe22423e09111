//! Readings in plain notation, for `explain`: every bracket shown, nothing implied.

use crate::answer::{Node, Piece, Relation};
use crate::expression::{Expression, Range};

/// A reading as one line.
pub(crate) fn node(reading: &Node) -> String {
    match reading {
        Node::Value { expression: value, unit, percent, plus } => {
            let mut text = expression(value);
            if value.any(&|node| matches!(node, Expression::PlusMinus(..))) {
                text += if *plus { " with +" } else { " with -" };
            }
            if *percent {
                text += " percent";
            }
            if let Some(unit) = unit {
                text = format!("{text} [{unit}]");
            }
            text
        }
        Node::Words(words) => format!("words {words:?}"),
        Node::List { open: ' ', items, .. } => format!("list {}", joined(items, ", ")),
        Node::List { open, close, items } => format!("{open}{}{close}", joined(items, ", ")),
        Node::Union(parts) => joined(parts, " ∪ "),
        Node::Intersection(parts) => joined(parts, " ∩ "),
        Node::Difference(parts) => joined(parts, " ∖ "),
        Node::Chain { sides, relations } => {
            let signs = std::iter::once("").chain(relations.iter().map(|relation| sign(*relation)));
            let side = |(sign, side): (&str, &Node)| match sign {
                "" => node(side),
                sign => format!(" {sign} {}", node(side)),
            };
            signs.zip(sides).map(side).collect()
        }
        Node::Matrix(rows) => {
            let row =
                |row: &Vec<Expression>| row.iter().map(expression).collect::<Vec<_>>().join(", ");
            format!("matrix [{}]", rows.iter().map(row).collect::<Vec<_>>().join("; "))
        }
        Node::Builder { head, conditions } => {
            format!("{{{} | {}}}", node(head), joined(conditions, ", "))
        }
        Node::Piecewise(pieces) => {
            let piece = |piece: &Piece| match &piece.condition {
                Some(condition) => format!("{} if {condition}", node(&piece.value)),
                None => format!("{} otherwise", node(&piece.value)),
            };
            format!("cases [{}]", pieces.iter().map(piece).collect::<Vec<_>>().join("; "))
        }
        Node::Ratio(parts) => parts.iter().map(expression).collect::<Vec<_>>().join(" : "),
    }
}

fn joined(nodes: &[Node], separator: &str) -> String {
    nodes.iter().map(node).collect::<Vec<_>>().join(separator)
}

fn sign(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "=",
        Relation::NotEqual => "≠",
        Relation::Less => "<",
        Relation::LessEqual => "≤",
        Relation::Greater => ">",
        Relation::GreaterEqual => "≥",
        Relation::In => "∈",
        Relation::Approximately => "≈",
    }
}

fn expression(value: &Expression) -> String {
    let all = |items: &[Expression], separator: &str| {
        items.iter().map(expression).collect::<Vec<_>>().join(separator)
    };
    match value {
        Expression::Number(number) => number.to_string(),
        Expression::Symbol(name) => name.trim_start_matches('\\').to_owned(),
        Expression::Sum(items) => format!("({})", all(items, " + ")),
        Expression::Product(items) => format!("({})", all(items, " · ")),
        Expression::Negative(inner) => format!("-{}", expression(inner)),
        Expression::Quotient(top, bottom) => {
            format!("({} / {})", expression(top), expression(bottom))
        }
        Expression::Power(base, exponent) => {
            format!("{}^{}", expression(base), expression(exponent))
        }
        Expression::Root(inner, index) => format!("root[{index}]({})", expression(inner)),
        Expression::Absolute(inner) => format!("|{}|", expression(inner)),
        Expression::Factorial(inner) => format!("{}!", expression(inner)),
        Expression::Binomial(n, k) => format!("binomial({}, {})", expression(n), expression(k)),
        Expression::Logarithm(None, inner) => format!("ln({})", expression(inner)),
        Expression::Logarithm(Some(base), inner) => {
            format!("log[{}]({})", expression(base), expression(inner))
        }
        Expression::Function(name, items) => format!("{name}({})", all(items, ", ")),
        Expression::Degrees(inner) => format!("{}°", expression(inner)),
        Expression::PlusMinus(inner, flipped) => {
            format!("{}{}", if *flipped { '∓' } else { '±' }, expression(inner))
        }
        Expression::Series { range, index, low, high, body } => {
            let name = if *range == Range::Sum { "sum" } else { "product" };
            let (low, high) = (expression(low), expression(high));
            format!("{name}[{index} = {low}..{high}]({})", expression(body))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::node;
    use crate::answer::Answer;

    #[test]
    fn readings_show_every_bracket() {
        for (text, expected) in [
            (r"\frac{1}{2}x^2", "((1 / 2) · x^2)"),
            (r"x^2 < 9", "x^2 < 9"),
            (r"(-\infty, 3]", "(-infty, 3]"),
            (r"\{1, \sqrt{2}\}", "{1, root[2](2)}"),
            (r"5\text{ cm}", "5 [cm]"),
            (r"\sum_{k=1}^{n} k", "sum[k = 1..n](k)"),
            ("no solution", "words \"no solution\""),
        ] {
            let readings = Answer::parse(text).unwrap().readings.unwrap();
            assert_eq!(node(&readings[0]), expected, "{text}");
        }
    }
}
