//! Equations and inequalities: labels and the values that they name, multiples.

mod labels;
mod multiple;
mod quantity;

use crate::answer::{Node, Relation};
use crate::expression::{Expression, is_constant};
use crate::parser::is_greek;
use crate::table::{lists, pattern, single};
use crate::words;

pub(crate) use labels::{
    backwards, by_name, named_values, names_differ, points, roots_of_one, shared, spread,
    tuples_of_one, values_of_labelled, with_label_repeated,
};
pub(crate) use multiple::{cleared, proportional};
pub(crate) use quantity::{extreme, segment};

/// Operations that a problem asks to undo: `\ln x = 2` names no 2, as `\cos A = 2` does.
const OPERATIONS: &str = "ln log logarithm factorial binomial degrees pm mp sum prod";

/// A value that a chain of equations asserts.
pub(crate) struct Assertion<'a> {
    pub(crate) value: &'a Node,
    /// The first side, if it names the value.
    pub(crate) label: Option<&'a Node>,
    /// Other sides, which must equal the value.
    pub(crate) members: Vec<&'a Node>,
    /// The last decimal behind `≈`.
    pub(crate) rounded: Option<&'a Node>,
}

/// Returns the last side of `x = 5`, `A = bh/2 = 6`, `x ∈ S` and `5 = x` with what the other sides are to it.
///
/// `None` if the sides before it neither name nor calculate it: `2x = 10` and `5 = 5` assert no 10 and no 5.
pub(crate) fn asserted(chain: &Node) -> Option<Assertion<'_>> {
    let Node::Chain { sides, relations } = chain else { return None };
    let equal = |relation: &Relation| match relation {
        Relation::Equal | Relation::Approximately => true,
        // `\theta \sim \lambda/B = 0.01`, `f(x) \sim \sum_{n=1}^\infty b_n \sin nx`
        Relation::Similar => sides.last().is_some_and(|side| {
            is_constant_value(side) || side.expression().is_some_and(|side| side.calls("sum"))
        }),
        _ => false,
    };
    let (sides, relations) = without_name(before_bounds((sides, relations), equal));
    let is_explicit = |node: &Node| {
        matches!(node, Node::Value { .. }) && !is_label(node) && !node.names().contains("y")
    };
    if let ([value, label], [Relation::Equal]) = (sides, relations)
        && (is_label(label) || !is_constant_value(label) && names(label, value))
        && (is_constant_value(value) || label.symbol() == Some("y") && is_explicit(value))
    {
        return Some(Assertion { value, label: Some(label), members: Vec::new(), rounded: None });
    }
    // `y \in \mathbb{R} \setminus \{1\} = (-\infty, 1) \cup (1, \infty)`
    let equations = relations.strip_prefix(&[Relation::In]).unwrap_or(relations);
    if !equations.iter().all(equal) {
        return None;
    }
    let (sides, relations) = behind_estimate((sides, relations));
    // x = 1/3 ≈ 0.333: the exact side counts.
    let first = usize::from(!is_constant_value(&sides[0]) || holds_unknown(&sides[0]));
    let exact = (first..relations.len()).find(|at| relations[*at] == Relation::Approximately);
    // A side that is not read is none.
    let exact = exact.filter(|at| !matches!(sides[*at], Node::Words(_)));
    let last = exact.unwrap_or(sides.len() - 1);
    let (value, before) = (&sides[last], &sides[..last]);
    let rounded = sides[last + 1..].last();
    // `N + \frac1N = 1 + \frac1N = 5`: not an equation for `N`.
    let open = |side: &&Node| side.has_variable();
    let in_steps = before.len() > 1 && is_constant_value(value);
    let several_open = in_steps && before.iter().filter(open).nth(1).is_some();
    let is_quantity = |side: &Node| is_power(side) || several_open;
    let (labels, members): (Vec<&Node>, Vec<&Node>) =
        before.iter().partition(|side| names(side, value) || in_steps && is_quantity(side));
    let label = sides.first().filter(|first| labels.first() == Some(first) && last > 0);
    // The middle of a calculation may hold letters, whose values are not said.
    let is_said = |side: &Node| {
        // `12{:}34 - 4{:}56 = 7 \text{ h } 38 \text{ min}`
        let times = matches!(side, Node::Ratio(parts) if parts.len() > 2)
            && !matches!(value, Node::Ratio(_));
        // What is not read is words.
        let unread = matches!(side, Node::Words(_)) && !matches!(value, Node::Words(_));
        let is_read = !matches!(side, Node::Piecewise(_)) && !times && !unread;
        is_read && side.names().is_subset(&value.names()) && !holds_unknown(side)
    };
    let members: Vec<&Node> = members.into_iter().filter(|side| is_said(side)).collect();
    let calculates =
        rounded.is_some() || members.iter().any(|side| !is_literal(side)) || !is_literal(value);
    let evidence = label.is_some() || calculates && (!members.is_empty() || rounded.is_some());
    let holds = |name| value.expression().is_some_and(|value| value.holds(name));
    let circular = before.iter().filter_map(symbol).any(holds);
    (evidence && !circular).then_some(Assertion { value, label, members, rounded })
}

/// Sides of a chain and the relations between them.
type Chain<'a> = (&'a [Node], &'a [Relation]);

/// Returns the equations before bounds of their value: `|z|^{10} = 2^{10} = 1024 > 1000`, `a = -120 + 360 = 240 \in [0, 360)`.
fn before_bounds((sides, relations): Chain<'_>, equal: impl Fn(&Relation) -> bool) -> Chain<'_> {
    use Relation::{Greater, GreaterEqual, In, Less, LessEqual, NotEqual};
    let count = relations.iter().take_while(|relation| equal(relation)).count();
    let (equations, signs) = relations.split_at(count);
    let (before, bounds) = sides.split_at(count + 1);
    let orders =
        |sign: &Relation| matches!(sign, Less | LessEqual | Greater | GreaterEqual | NotEqual);
    let bounded =
        *signs == [In] || signs.iter().all(orders) && bounds.iter().all(is_constant_value);
    // `W = e^{3x} \ne 0`
    let zero = |side: &Node| side.plain().is_some_and(|side| side.as_integer() == Some(0));
    let remark = matches!(signs, [NotEqual | Greater]) && bounds.iter().all(zero);
    let constant = before.last().is_some_and(is_constant_value);
    let is_value = count > 0 && (constant || remark && is_label(&before[0]));
    if is_value && (bounded || remark) { (before, equations) } else { (sides, relations) }
}

/// Returns the value of the bound of `a^2 + b^2 = (a + b)^2 - 2ab \ge 25 - 12 = 13`, which is calculated on both sides.
pub(crate) fn bound(chain: &Node) -> Option<&Node> {
    let Node::Chain { sides, relations } = chain else { return None };
    let bounds =
        |relation: &Relation| matches!(relation, Relation::LessEqual | Relation::GreaterEqual);
    let [first, .., last] = relations.as_slice() else { return None };
    let one = relations.iter().filter(|relation| bounds(relation)).count() == 1;
    let equal = relations.iter().all(|relation| bounds(relation) || *relation == Relation::Equal);
    let calculated = (*first, *last) == (Relation::Equal, Relation::Equal) && one && equal;
    let calculated = calculated && symbol(&sides[0]).is_none();
    // `x + \frac1x \ge 2\sqrt1 = 2`, `f = xy(x + y) \le \frac14 \cdot 1 = \frac14`: of an expression.
    let relation = relations.iter().find(|relation| bounds(relation))?;
    let of_one_kind = relations.iter().all(|other| *other == Relation::Equal || other == relation);
    let quantity =
        if is_label(&sides[0]) && *first == Relation::Equal { &sides[1] } else { &sides[0] };
    let compound = match quantity.plain() {
        Some(Expression::Power(base, _)) => base.as_symbol().is_none(),
        Some(quantity) => quantity.has_variable(),
        None => false,
    };
    let of_expression = of_one_kind
        && relations.contains(&Relation::Equal)
        && compound
        && !is_label(quantity)
        && quantity.names().len()
            > usize::from(matches!(quantity.plain(), Some(Expression::Product(_))));
    sides.last().filter(|value| (calculated || of_expression) && is_constant_value(value))
}

/// Returns what stands behind the estimate in `\frac{17}{100} \approx \frac{17}{102} = \frac16`, if it ends in an exact value.
fn behind_estimate((sides, relations): Chain<'_>) -> Chain<'_> {
    let number = |node: &Node| matches!(node.expression(), Some(Expression::Number(_)));
    let exact = |node: &Node| is_constant_value(node) && !number(node);
    // `e^{-x} \approx 1 - x + \frac{x^2}{2!} = 1 - x + \frac{x^2}{2}`
    if let ([estimated, rest @ ..], [Relation::Approximately, equations @ ..]) = (sides, relations)
        && !equations.is_empty()
        && estimated.has_variable()
        && rest.iter().all(Node::has_variable)
    {
        return (rest, equations);
    }
    let sign = relations.iter().rposition(|relation| *relation == Relation::Approximately);
    match (sign, relations.last(), sides.last()) {
        (Some(at), Some(Relation::Equal), Some(last)) if exact(last) && exact(&sides[at + 1]) => {
            (&sides[at + 1..], &relations[at + 1..])
        }
        _ => (sides, relations),
    }
}

/// Removes the name behind a value: `\frac12 - \frac14 = \frac14 = f_{\max}`, `s\sqrt2 = 4\sqrt2 = \text{edge}`.
fn without_name((sides, relations): Chain<'_>) -> Chain<'_> {
    let is_name = |label: &Node| match label {
        Node::Words(_) => is_label(label),
        _ => extreme(label).is_some(),
    };
    match (sides, relations) {
        ([before @ .., value, label], [equations @ .., Relation::Equal])
            if !before.is_empty() && is_name(label) && is_constant_value(value) =>
        {
            (&sides[..sides.len() - 1], equations)
        }
        all => all,
    }
}

/// Returns true if the value of the chain is all that it asks for: `x = 5`, not the curve `x^2 + y^2 = 25`.
pub(crate) fn names_plainly(chain: &Node) -> bool {
    asserted(chain).is_some_and(|assertion| {
        !matches!(assertion.value, Node::Value { .. }) || assertion.label.is_none_or(is_label)
    })
}

/// Returns label and value of `x = 5`, `f(x) = …`, `answer = 5`, `x ∈ S`, `y = f(x) = …` and `5 = x`.
pub(crate) fn labelled(chain: &Node) -> Option<(&Node, &Node)> {
    let assertion = asserted(chain).filter(|assertion| assertion.members.is_empty())?;
    Some((assertion.label?, assertion.value))
}

fn is_constant_value(node: &Node) -> bool {
    node.expression().is_some_and(|value| !value.has_variable())
}

fn is_literal(node: &Node) -> bool {
    matches!(node, Node::Value { expression, unit: None, .. } if expression.literal().is_some())
}

/// Returns true if a side names the value on another: a label, or a quantity that a value without variables answers.
fn names(side: &Node, value: &Node) -> bool {
    is_label(side)
        // `i = 3`: an unknown of this name.
        || side.expression().is_some_and(|side| side.is_symbol("i")) && is_literal(value)
        // `1 + \frac12 + \frac14 + \cdots`
        || side.expression().is_some_and(|side| side.holds("\\ldots") || side.any(&is_indefinite))
        || match (side, value) {
            // A series without end or of unknown terms, whose value is not calculated.
            (Node::Value { expression: Expression::Function(name, parts), .. }, Node::Value { .. })
                if lists("sum prod", name) =>
            {
                let index = parts[0].as_symbol().unwrap_or_default().to_owned();
                let unknown = |name: String| name != index && name.contains('_');
                side.expression().is_some_and(|series| series.holds("\\infty"))
                    || !value.has_variable() && side.names().into_iter().any(unknown)
            }
            (Node::Matrix(rows), Node::Matrix(_)) => rows.iter().flatten().all(is_variable),
            // `(a + b, ab) = (5, 6)`
            (Node::List { open: '(', items, .. }, Node::List { open: '(', items: values, .. }) => {
                items.len() == values.len()
                    && items.iter().zip(values).all(|(item, value)| names(item, value))
            }
            // `y^s = 100p`: a name with a superscript.
            (
                Node::Value { expression: Expression::Power(base, index), .. },
                Node::Value { .. },
            ) if value.has_variable() => {
                let letter = |part: &Expression| matches!(part, Expression::Symbol(_));
                letter(base) && letter(index) && side.names().is_disjoint(&value.names())
            }
            // `2x = 10` asks for `x`; `m + n = 10` and `\cos A = 1/2` are quantities of a problem.
            (Node::Value { expression, .. }, Node::Value { expression: value, .. }) => {
                !value.has_variable()
                    && (expression.variables().len() > 1
                        // `6072 + f(0) = 6073`
                        || matches!(expression, Expression::Sum(parts) if parts.iter().any(is_value_of))
                        || expression.has_variable()
                            && (is_of_values(expression)
                                // `\pi r^2 = 9\pi`
                                || matches!(expression, Expression::Product(_))
                                    && expression.holds("\\pi")
                                    && value.holds("\\pi")))
            }
            // `\pi`: the stationary distribution.
            (Node::Value { expression, .. }, other) => {
                let distribution = matches!(other, Node::List { .. } | Node::Matrix(_));
                expression.has_variable() || distribution && expression.is_symbol("\\pi")
            }
            (Node::Joined(_, sets), _) => sets.iter().all(is_label),
            (Node::Builder { .. }, Node::List { .. } | Node::Builder { .. }) => true,
            _ => false,
        }
}

/// Returns true for an integral without ends: `x\sin x - \int \sin x\,dx` is calculated.
fn is_indefinite(expression: &Expression) -> bool {
    matches!(expression, Expression::Function(name, parts) if name == "int" && parts.len() == 2)
}

/// Returns true for `\sin A + \cos A`: a quantity in which the variable stands in functions alone.
fn is_of_values(expression: &Expression) -> bool {
    match expression {
        Expression::Function(name, _) => !lists(OPERATIONS, name),
        Expression::Negative(inner) => is_of_values(inner),
        Expression::Sum(parts) | Expression::Product(parts) => {
            parts.iter().all(|part| !part.has_variable() || is_of_values(part))
        }
        _ => false,
    }
}

/// Returns true for `s^2`, which is calculated in `s^2 = \frac{8}{4} = 2` and an equation in `x^2 = 16`.
pub(crate) fn is_power(side: &Node) -> bool {
    let symbol = |base: &Expression| matches!(base, Expression::Symbol(_));
    matches!(side.plain(), Some(Expression::Power(base, _)) if symbol(base))
}

/// Returns true if the node is a label whatever its value.
pub(crate) fn is_label(label: &Node) -> bool {
    match label {
        Node::Words(words) => !words::sets_condition(words),
        Node::Value { expression, .. } if is_name(expression) => true,
        Node::Value { expression, .. } => match expression {
            Expression::Function(name, arguments) if is_plain_function(name) => {
                // `W(e^x, e^{2x})`
                let operator = arguments.len() > 1 && name.starts_with(char::is_uppercase);
                let plain = |part: &Expression| {
                    operator
                        || is_symbol_or_number(part)
                        || is_value_of(part)
                        || !part.has_variable()
                };
                arguments.iter().all(plain)
            }
            Expression::Function(name, _) => {
                lists("int lim det", name) || name.starts_with("\\frac{d")
            }
            // `V_o(s)/V_i(s)`
            Expression::Quotient(top, bottom) => is_value_of(top) && is_value_of(bottom),
            // `p(x) + q(x)`
            Expression::Sum(parts) | Expression::Product(parts) => {
                parts.iter().all(is_value_of) || is_derivative(parts)
            }
            _ => false,
        },
        Node::Ratio(parts) => parts.iter().all(is_name),
        Node::List { open: '(' | '{', items, .. } => {
            items.iter().all(|item| symbol(item).is_some() || matches!(item, Node::Words(_)))
        }
        _ => false,
    }
}

/// Returns true for the factors of `D_{\mathbf u} f(3, 4)`, a derivative in a direction, and of the change `\Delta S`.
fn is_derivative(factors: &[Expression]) -> bool {
    matches!(factors, [Expression::Symbol(name), function]
        if name.starts_with("D_") && (is_value_of(function) || is_variable(function))
            || name == "\\Delta" && is_variable(function))
}

fn is_value_of(expression: &Expression) -> bool {
    matches!(expression, Expression::Function(name, arguments)
        if is_plain_function(name) && arguments.iter().all(is_symbol_or_number))
}

/// Returns true for a variable, a segment `AB` or an angle `m\\angle A`: names, no calculations.
fn is_name(expression: &Expression) -> bool {
    let capital = |expression: &Expression| {
        matches!(expression, Expression::Symbol(name)
            if name == "m" || name.starts_with("\\angle") || name.starts_with(char::is_uppercase))
    };
    match expression {
        // The eccentricity.
        Expression::Symbol(name) => name == "e" || is_variable(expression),
        Expression::Product(factors) => factors.iter().all(capital),
        Expression::Quotient(top, bottom) => is_name(top) && is_name(bottom),
        Expression::Function(name, arguments) => {
            matches!(name.as_str(), "overline" | "vec" | "bar") && arguments.iter().all(is_name)
        }
        _ => false,
    }
}

/// Returns true for the name of a variable or of a value of a function.
pub(crate) fn is_definable(label: &Node) -> bool {
    label.plain().is_some_and(|label| is_variable(label) || is_value_of(label))
}

/// Returns true if a value of a function stands in it: `1 - P(0)`.
pub(crate) fn holds_unknown(node: &Node) -> bool {
    match node {
        Node::Value { expression, .. } => expression.any(&|node| match node {
            Expression::Function(name, _) => is_plain_function(name) || is_indefinite(node),
            _ => false,
        }),
        Node::Chain { sides, .. } => sides.iter().any(holds_unknown),
        _ => false,
    }
}

fn is_variable(expression: &Expression) -> bool {
    matches!(expression, Expression::Symbol(name) if !is_constant(name))
}

/// Renames `t` in `f(t) = …` as in the other definition, if both define the same function of one variable.
pub(crate) fn with_same_argument(left: &Node, right: &Node) -> Option<Node> {
    let ((left, _), (right, value)) = (labelled(left)?, labelled(right)?);
    let ((name, wanted), (other, given)) = (argument(left)?, argument(right)?);
    // `P(A)` and `P(B)` are two values.
    let values = [wanted, given].iter().any(|name| name.starts_with(char::is_uppercase));
    // Renaming to a name already in use would change the meaning.
    let taken = value.expression()?.holds(wanted);
    (name == other && wanted != given && !values && !taken).then(|| value.renamed(given, wanted))
}

/// Returns the function and its argument of `x(t)`, and the sequence and its index of `a_k`.
fn argument(label: &Node) -> Option<(&str, &str)> {
    let index = || label.symbol()?.split_once('_').filter(|(_, index)| lists("i j k l m n", index));
    applied(label.expression()?).or_else(index)
}

/// Returns the function and its argument of `x(t)`.
pub(crate) fn applied(expression: &Expression) -> Option<(&str, &str)> {
    let Expression::Function(name, arguments) = expression else { return None };
    let [Expression::Symbol(argument)] = arguments.as_slice() else { return None };
    is_plain_function(name).then_some((name, argument))
}

/// Returns a value in one variable with that variable named as the argument of `f(x)`; `None` if it is so already.
pub(crate) fn in_argument_of(label: Option<&Node>, value: &Node) -> Option<Node> {
    let (_, argument) = applied(label?.expression()?)?;
    let name = single(value.names().into_iter()).filter(|name| name != argument)?;
    // `\mathbb{R}` and the metres of `2 m` are no arguments.
    lists("x y z t s u v w k n p q r \\lambda \\theta \\tau", &name)
        .then(|| value.renamed(&name, argument))
}

/// Returns true for the name of a function that is a letter, with an index or primes: `f`, `\omega`, `x_1'`.
pub(crate) fn is_plain_function(name: &str) -> bool {
    let letter = name.trim_end_matches('\'').split(['_', '^']).next().unwrap_or_default();
    letter.len() == 1 && letter.starts_with(char::is_alphabetic)
        || letter.strip_prefix('\\').is_some_and(is_greek)
}

fn is_symbol_or_number(expression: &Expression) -> bool {
    matches!(expression, Expression::Symbol(_)) || expression.literal().is_some()
}

/// Returns true if two labels may name one thing: equal ones, or a variable and a function (`y`, `f(x)`).
pub(crate) fn same_label(left: &Node, right: &Node) -> bool {
    let both =
        |name: fn(&Node) -> Option<String>| name(left).is_some() && name(left) == name(right);
    // `n_{\min}` is a value of `n`.
    let base = |node: &Node| {
        let name = node.symbol()?;
        let bare = pattern!(r"_\{?\\?(?:min|max)\}?$").replace(name, "");
        // `\hat y` is the value of `y` on a fitted line.
        Some(bare.strip_prefix("\\hat ").unwrap_or(&bare).to_owned())
    };
    let opposite = matches!((extreme(left), extreme(right)), (Some(a), Some(b)) if a != b);
    // `\max A` and `\max B`
    let of_others = matches!((left.plain(), right.plain()),
        (Some(Expression::Function(_, a)), Some(Expression::Function(_, b))) if a != b);
    if left == right
        || quantity::named_alike(left, right)
        || !of_others && both(extreme)
        || both(segment)
        || !opposite && both(base)
        || quantity::one_quantity(left, right)
    {
        return true;
    }
    // `y`, or the name of the function.
    let names = |node: &Node, function: &Node| {
        matches!(function.expression(), Some(Expression::Function(of, parts))
        if node.symbol().is_some_and(|name| {
            name == "y" || name == of && !parts.iter().any(|part| part.holds(of))
        }))
    };
    names(right, left) || names(left, right) || quantity::are_potentials(left, right)
}

pub(crate) fn symbol(node: &Node) -> Option<&str> {
    node.symbol().filter(|name| !is_constant(name))
}
