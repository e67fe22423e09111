//! Comparison of answers of different kinds: words and sets, times, shares, named points, lists of one value.

use super::difference::kind;
use super::{Comparison, Finding, Result, is_nothing};
use crate::answer::{Combination, Node};
use crate::expression::Expression;
use crate::table::paired;
use crate::verdict::Rung;
use crate::words;

impl Comparison {
    /// Compares sets of words, "no solution" and the empty set, and unions of inequalities.
    pub(super) fn mixed(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        if let Some(found) = self.mixed_in_order(left, right)? {
            return Ok(found);
        }
        let cases = |node: &Node| matches!(node, Node::Piecewise(_));
        if (cases(left) || cases(right))
            && let Some(found) = self.pointwise(left, right)
        {
            return Ok(found);
        }
        match self.turned(|comparison| comparison.mixed_in_order(right, left))? {
            Some(found) => Ok(found),
            // Cases and a description in words may be what a formula says.
            None if [left, right].into_iter().any(|node| cases(node) || describes(node)) => {
                self.undecided = true;
                Ok((false, Rung::Kind))
            }
            None => self.shapes(Rung::Kind, kind(left), kind(right)),
        }
    }

    fn mixed_in_order(&mut self, a: &Node, b: &Node) -> Result<Option<Finding>> {
        // `\frac12 or 0.5` as one answer
        if let Node::List { open: ' ', items, .. } = a
            && let [only] = self.distinct(items)?.as_slice()
        {
            return self.compare(only, b).map(Some);
        }
        let finding = match (a, b) {
            (Node::Words(words), Node::List { open: '{', items, .. }) if items.is_empty() => {
                self.is(is_nothing(words), (a, b))
            }
            (Node::Words(words), Node::Value { expression: Expression::Symbol(name), .. })
                if name.starts_with("\\mathbb ")
                    || name == "\\infty" && words == "infinitely many" =>
            {
                self.is(Some(words.as_str()) == paired("set in words", name), (a, b))
            }
            // `\phi`, written for the sign of the empty set
            (Node::Value { expression, unit: None }, Node::List { open: '{', items, .. })
                if items.is_empty() && expression.is_symbol("\\phi") =>
            {
                Ok((true, Rung::Words))
            }
            // "I and III only" for I, III
            (Node::Words(words), Node::List { open: ' ', items, .. })
                if in_words(items).is_some_and(|names| words::same(words, &names)) =>
            {
                Ok((true, Rung::Words))
            }
            // "3:45" leaves the half of the day open.
            (Node::Words(words), Node::Ratio(parts)) if words.starts_with("clock ") => {
                self.is(is_clock(words, parts), (a, b))
            }
            // "(0, 1) or (2, 3)"
            (Node::Joined(Combination::Union, parts), Node::List { open: ' ', items, .. })
                if items.iter().all(|item| matches!(item, Node::List { .. })) =>
            {
                self.unordered(parts, items)
            }
            // A share of two is their quotient.
            (Node::Ratio(parts), Node::Value { expression, .. }) if parts.len() == 2 => {
                self.expressions(&(parts[0].clone() / parts[1].clone()), expression)
            }
            // `A(2, 3)`: a point with its name.
            (
                Node::Value { expression: Expression::Function(name, arguments), .. },
                Node::List { open: '(', items, .. },
            ) if is_point_name(name) && arguments.len() > 1 => {
                self.ordered(&Node::entries(std::slice::from_ref(arguments)), items)
            }
            (Node::Value { expression, .. }, Node::List { open: '(', items, .. }) => {
                return self.unit_vectors(expression, items);
            }
            // `5I_2`
            (Node::Value { expression, .. }, Node::Matrix(rows))
                if let Some(name) =
                    expression.variables().iter().find(|name| is_identity(name, rows))
                    && self.vanishes(&expression.with(name, &Expression::integer(0)))? =>
            {
                self.ordered(&identity(expression, name, rows.len()), &Node::entries(rows))
            }
            (Node::Value { expression, .. }, Node::Matrix(rows))
                if rows.iter().all(|row| row.len() == 1) =>
            {
                return self.unit_vectors(expression, &Node::entries(rows));
            }
            _ => return Ok(None),
        };
        finding.map(Some)
    }

    /// Compares `3\vec i + 4\vec j` with `(3, 4)`; `None` if there is no unit vector.
    fn unit_vectors(&mut self, expression: &Expression, items: &[Node]) -> Result<Option<Finding>> {
        const NAMES: [&str; 3] = ["\\vec i", "\\vec j", "\\vec k"];
        // `2\hat{x} + 5\hat{z}`
        let with_letters = expression.substituted(&|name| {
            let place =
                ["\\hat x", "\\hat y", "\\hat z"].iter().position(|known| *known == name)?;
            Some(Expression::symbol(NAMES[place]))
        });
        let (expression, names) = (&with_letters, with_letters.variables());
        let known = names.iter().any(|name| NAMES.contains(&name.as_str()));
        if !known || !(2..=3).contains(&items.len()) {
            return Ok(None);
        }
        let number = Expression::integer;
        let component = |axis: Option<usize>| {
            expression.substituted(&|name| {
                let position = NAMES.iter().position(|known| *known == name)?;
                Some(number(i64::from(Some(position) == axis)))
            })
        };
        // An expression with a constant beside the vectors is no vector.
        if !self.vanishes(&component(None))? {
            return self.shapes(Rung::Kind, "no vector", "a point").map(Some);
        }
        let components = (0..NAMES.len()).map(|axis| component(Some(axis)).into());
        let zero = Node::from(number(0));
        let point = items.iter().chain([&zero]).take(NAMES.len()).cloned();
        self.ordered(&components.collect::<Vec<_>>(), &point.collect::<Vec<_>>()).map(Some)
    }

    fn vanishes(&mut self, expression: &Expression) -> Result<bool> {
        Ok(self.expressions(expression, &Expression::integer(0))?.0)
    }

    /// Returns the finding on words that mean the other side or not.
    fn is(&mut self, same: bool, (words, other): (&Node, &Node)) -> Result<Finding> {
        if same {
            Ok((true, Rung::Words))
        } else {
            self.shapes(Rung::Words, kind(words), kind(other))
        }
    }
}

/// Returns true for a capital letter, with or without an index: the usual names of points.
fn is_point_name(name: &str) -> bool {
    let letter = name.trim_end_matches('\'').split('_').next().unwrap_or_default();
    letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Returns the entries of a multiple of the identity matrix, row by row.
fn identity(multiple: &Expression, name: &str, order: usize) -> Vec<Node> {
    let [off, on] = [0, 1].map(|entry| multiple.with(name, &Expression::integer(entry)));
    let entry = |place: usize| {
        if place.is_multiple_of(order + 1) { on.clone() } else { off.clone() }.into()
    };
    (0..order * order).map(entry).collect()
}

/// Returns true for the usual names of the identity matrix of this order.
fn is_identity(name: &str, rows: &[Vec<Expression>]) -> bool {
    let (letter, order) = name.split_once('_').unwrap_or((name, ""));
    matches!(letter, "I" | "E")
        && (order.is_empty() || order == rows.len().to_string())
        && rows.iter().all(|row| row.len() == rows.len())
}

/// Returns the names of a list, joined by "and"; III is read as a product.
fn in_words(items: &[Node]) -> Option<String> {
    let letter = |part: &Expression| part.as_symbol().map(str::to_lowercase);
    let name = |item: &Node| match item {
        Node::Words(name) => Some(name.clone()),
        Node::Value { expression: Expression::Product(letters), .. } => {
            letters.iter().map(letter).collect()
        }
        item => item.plain().and_then(letter),
    };
    Some(items.iter().map(name).collect::<Option<Vec<String>>>()?.join(" and "))
}

/// Returns true for words that may describe what a formula says: "all positive integers n except 2".
fn describes(node: &Node) -> bool {
    const A_NAME: usize = 3;
    matches!(node, Node::Words(words)
        if words.split(' ').count() > A_NAME || words.contains(|c: char| c.is_ascii_digit()))
}

/// Returns true if hours and minutes are those of "clock h:mm", in either half of the day.
fn is_clock(words: &str, parts: &[Expression]) -> bool {
    let ([hours, minutes] | [hours, minutes, _]) = parts else { return false };
    let Some((hours, minutes)) = hours.as_integer().zip(minutes.as_integer()) else { return false };
    // "15:30" is one time, "3:30" either of two.
    let halves: &[i64] = match hours {
        0 => &[0],
        13.. => &[12],
        _ => &[0, 12],
    };
    halves.iter().any(|half| words == format!("clock {}:{minutes:0>2}", hours % 12 + half))
}
