//! Equations and inequalities: labels, rearrangement, intervals.

use dashu::Rational;
use dashu::base::Signed;

use crate::algebra::{Algebra, Fraction, Polynomial};
use crate::answer::{Node, Relation};
use crate::expression::{Expression, is_constant};
use crate::verdict::ParseError;

/// Returns label and value of `x = 5`, `f(x) = …`, `answer = 5`, `x ∈ S`, `y = f(x) = …` and `5 = x`.
pub(crate) fn labelled(chain: &Node) -> Option<(&Node, &Node)> {
    let Node::Chain { sides, relations } = chain else { return None };
    let label = sides.first()?;
    let first = relations.first()?;
    if !matches!(first, Relation::Equal | Relation::In | Relation::Approximately) {
        return None;
    }
    if let ([value, label], Relation::Equal) = (sides.as_slice(), first)
        && is_plain_label(label)
        && is_constant_value(value)
    {
        return Some((label, value));
    }
    let mut index = 1;
    while index + 1 < sides.len()
        && relations[index] == Relation::Equal
        && is_plain_label(&sides[index])
    {
        index += 1;
    }
    // x = 1/3 ≈ 0.333: the exact side counts.
    if !relations[index..].iter().all(|relation| matches!(relation, Relation::Approximately)) {
        return None;
    }
    let value = &sides[index];
    // `x = x + 1` is no label with a value.
    let circular = match (label, value) {
        (
            Node::Value { expression: Expression::Symbol(name), .. },
            Node::Value { expression, .. },
        ) => expression.any(&|node| matches!(node, Expression::Symbol(other) if other == name)),
        _ => false,
    };
    let is_label = is_plain_label(label)
        || is_constant_value(value) && is_quantity(label)
        || matches!(value, Node::Matrix(_)) && is_matrix_name(label);
    (is_label && !circular).then_some((label, value))
}

/// Returns true for `A^{-1}`, `AB` or a column of variables.
fn is_matrix_name(label: &Node) -> bool {
    match label {
        Node::Value { expression: Expression::Power(base, _), .. } => is_name(base),
        Node::Matrix(rows) => rows
            .iter()
            .flatten()
            .all(|entry| matches!(entry, Expression::Symbol(name) if !is_constant(name))),
        _ => false,
    }
}

fn is_constant_value(node: &Node) -> bool {
    matches!(node, Node::Value { expression, .. } if !expression.has_variable())
}

/// Returns true if the node is a label whatever its value.
pub(crate) fn is_plain_label(label: &Node) -> bool {
    match label {
        Node::Words(_) => true,
        Node::Value { expression, .. } => match expression {
            Expression::Symbol(name) => !is_constant(name),
            Expression::Function(name, arguments) if is_plain_function(name) => {
                arguments.iter().all(is_symbol_or_number)
            }
            // Segments and their quotients: `AB`, `\\frac{NO}{BO}`; values of a function: `T(10)`.
            other => is_name(other),
        },
        Node::Ratio(parts) => parts.iter().all(is_name),
        Node::List { open: '(', items, .. } => items
            .iter()
            .all(|item| matches!(item, Node::Value { expression: Expression::Symbol(_), .. })),
        _ => false,
    }
}

/// Returns true for a quantity of a problem, as in `m + n = 25`, `\cos A = 1/2`; false for a curve in `x` and `y`.
fn is_quantity(label: &Node) -> bool {
    let Node::Value { expression, .. } = label else { return false };
    let letter = |expression: &Expression| {
        matches!(expression, Expression::Symbol(name)
        if !is_constant(name) && !name.starts_with(['x', 'y', 'z', 't']))
    };
    match expression {
        Expression::Sum(terms) => terms.iter().all(letter),
        Expression::Product(factors) => factors.iter().all(letter),
        Expression::Function(name, arguments) => {
            let angle = |argument: &Expression| {
                matches!(argument, Expression::Symbol(name)
                    if name.starts_with(char::is_uppercase) || name.starts_with("\\angle"))
            };
            matches!(name.as_str(), "sin" | "cos" | "tan" | "cot") && arguments.iter().all(angle)
        }
        _ => false,
    }
}

/// Returns true for capital letters side by side, or a letter with a number: names, no calculations.
fn is_name(expression: &Expression) -> bool {
    let capital = |expression: &Expression| {
        matches!(expression, Expression::Symbol(name)
            if name.starts_with(char::is_uppercase) || name.starts_with("\\angle"))
    };
    match expression {
        Expression::Symbol(name) => !is_constant(name),
        Expression::Product(factors) => {
            let measure_of =
                matches!(factors.first(), Some(Expression::Symbol(name)) if name == "m");
            factors.iter().skip(usize::from(measure_of)).all(capital) && factors.len() > 1
        }
        Expression::Quotient(top, bottom) => {
            (is_name(top) && is_name(bottom)) || (is_differential(top) && is_differential(bottom))
        }
        Expression::Absolute(inner) => is_name(inner),
        Expression::Function(name, arguments) => {
            matches!(name.as_str(), "overline" | "vec" | "bar") && arguments.iter().all(is_name)
        }
        _ => false,
    }
}

/// Returns true for `dy` in `dy/dx`.
fn is_differential(expression: &Expression) -> bool {
    matches!(expression, Expression::Product(factors)
        if matches!(factors.as_slice(), [Expression::Symbol(d), Expression::Symbol(_)] if d == "d"))
}

/// Renames `t` in `f(t) = …` as in the other definition, if both define the same function of one variable.
pub(crate) fn with_same_argument(left: &Node, right: &Node) -> Option<Node> {
    let argument = |node: &Node| match node {
        Node::Value { expression: Expression::Function(name, arguments), .. }
            if is_plain_function(name) =>
        {
            match arguments.as_slice() {
                [Expression::Symbol(argument)] => Some((name.clone(), argument.clone())),
                _ => None,
            }
        }
        _ => None,
    };
    let ((left_label, _), (right_label, right_value)) = (labelled(left)?, labelled(right)?);
    let ((left_name, wanted), (right_name, given)) =
        (argument(left_label)?, argument(right_label)?);
    // Renaming to a name already in use would change the meaning.
    let Node::Value { expression, unit, percent, plus } = right_value else { return None };
    let taken = expression.any(&|node| matches!(node, Expression::Symbol(name) if *name == wanted));
    if left_name != right_name || wanted == given || taken {
        return None;
    }
    let expression = expression.renamed(&given, &wanted);
    Some(Node::Value { expression, unit: unit.clone(), percent: *percent, plus: *plus })
}

/// Returns the values of a list if every item is labelled, in the order written.
pub(crate) fn values_of_labelled(items: &[Node]) -> Option<Vec<Node>> {
    items.iter().map(|item| labelled(item).map(|(_, value)| value.clone())).collect()
}

/// Returns true if both lists name values of one variable, and one of them does so without numbering them.
pub(crate) fn roots_of_one(left: &[Node], right: &[Node]) -> bool {
    // The common name without index, and whether no name has an index.
    let base = |items: &[Node]| {
        let names: Option<Vec<&str>> =
            items.iter().map(|item| labelled(item).and_then(|(label, _)| symbol(label))).collect();
        let names = names?;
        let base = names.first()?.split('_').next()?.to_owned();
        let same = names.iter().all(|name| name.split('_').next() == Some(&base));
        same.then(|| (names.iter().all(|name| **name == base), base))
    };
    match (base(left), base(right)) {
        (Some((plain, name)), Some((other_plain, other))) => {
            name == other && (plain || other_plain)
        }
        _ => false,
    }
}

/// Expands `x = y = 2` to `x = 2, y = 2`.
pub(crate) fn shared(chain: &Node) -> Option<Vec<Node>> {
    let Node::Chain { sides, relations } = chain else { return None };
    let (value, names) = sides.split_last()?;
    let is_shared = names.len() > 1
        && is_constant_value(value)
        && names.iter().all(|name| symbol(name).is_some())
        && relations.iter().all(|relation| *relation == Relation::Equal);
    let equation = |name: &Node| Node::Chain {
        sides: vec![name.clone(), value.clone()],
        relations: vec![Relation::Equal],
    };
    is_shared.then(|| names.iter().map(equation).collect())
}

fn is_plain_function(name: &str) -> bool {
    let letter = name.trim_end_matches('\'').split(['_', '^']).next().unwrap_or_default();
    letter.len() == 1 && letter.starts_with(char::is_lowercase)
        || (letter.len() == 1 && letter.starts_with(char::is_uppercase))
}

fn is_symbol_or_number(expression: &Expression) -> bool {
    matches!(expression, Expression::Symbol(_) | Expression::Number(_))
}

/// Returns true if two labels may name one thing: equal ones, or a variable and a function (`y`, `f(x)`).
pub(crate) fn same_label(left: &Node, right: &Node) -> bool {
    if left == right {
        return true;
    }
    let is_function =
        |node: &Node| matches!(node, Node::Value { expression: Expression::Function(..), .. });
    let is_y = |node: &Node| matches!(node, Node::Value { expression: Expression::Symbol(name), .. } if name == "y");
    (is_function(left) && is_y(right)) || (is_y(left) && is_function(right))
}

/// Returns the values of `x = 1, y = 2` in the order of their names, if all are labelled and differ.
pub(crate) fn named_values(items: &[Node]) -> Option<Vec<Node>> {
    let mut named = Vec::new();
    for item in items {
        let (Node::Value { expression: Expression::Symbol(name), .. }, value) = labelled(item)?
        else {
            return None;
        };
        named.push((name.clone(), value.clone()));
    }
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let distinct = named.windows(2).all(|pair| pair[0].0 != pair[1].0);
    distinct.then(|| named.into_iter().map(|(_, value)| value).collect())
}

fn symbol(node: &Node) -> Option<&str> {
    match node {
        Node::Value { expression: Expression::Symbol(name), .. } if !is_constant(name) => {
            Some(name)
        }
        _ => None,
    }
}

/// Returns true if `p REL 0` and `q REL' 0` are rational multiples of each other (positive, or reversing the relation).
pub(crate) fn proportional(
    algebra: &mut Algebra,
    (p, p_relation): (&Fraction, Relation),
    (q, q_relation): (&Fraction, Relation),
) -> Result<bool, ParseError> {
    let equation =
        p_relation == q_relation && matches!(p_relation, Relation::Equal | Relation::NotEqual);
    let polynomial = |value: &Fraction| value.as_polynomial().is_some();
    if !(equation || polynomial(p) && polynomial(q)) {
        return Ok(false);
    }
    let (first, second) = (cleared(algebra, &p.numerator)?, cleared(algebra, &q.numerator)?);
    // Negative exponents may only be multiplied away in an equation.
    if !equation && (first != p.numerator || second != q.numerator) {
        return Ok(false);
    }
    let (Some(a), Some(b)) = (first.leading().cloned(), second.leading().cloned()) else {
        return Ok(first.is_zero() && second.is_zero() && p_relation == q_relation);
    };
    // A relation between constants says nothing about the variables.
    if first.as_constant().is_some() || second.as_constant().is_some() {
        return Ok(false);
    }
    let factor: Rational = a / b;
    let turned = if factor.is_negative() { q_relation.flipped() } else { q_relation };
    if p_relation != turned {
        return Ok(false);
    }
    algebra.equal(&Fraction::from(first), &Fraction::from(second.scaled(&factor)))
}

/// Returns the polynomial times the lowest powers of its atoms, so that no exponent is negative.
pub(crate) fn cleared(
    algebra: &mut Algebra,
    polynomial: &Polynomial,
) -> Result<Polynomial, ParseError> {
    let mut lowest = std::collections::BTreeMap::new();
    for (monomial, _) in polynomial.terms() {
        for (id, exponent) in monomial {
            if exponent.numerator() < 0 {
                let slot = lowest.entry(*id).or_insert(*exponent);
                *slot = (*slot).min(*exponent);
            }
        }
    }
    if lowest.is_empty() {
        return Ok(polynomial.clone());
    }
    let inverse = lowest.into_iter().map(|(id, exponent)| (id, -exponent)).collect();
    let factor = Polynomial::term(inverse, Rational::ONE);
    algebra.multiply_polynomials(polynomial, &factor)
}
