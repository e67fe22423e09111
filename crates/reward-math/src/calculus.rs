//! Derivatives by the rules, and limits by l'Hôpital's rule.

use dashu::Rational;

use crate::expression::Expression;
use crate::numeric::{self, Enclosures};
use crate::relation::is_plain_function;
use crate::table::pattern;

/// Most nodes of a derivative, which grows with each product.
const MOST_NODES: usize = 10_000;
/// Most times that top and bottom of a quotient are differentiated.
const MOST_ORDERS: usize = 5;
/// Most limits and derivatives of one expression.
const MOST_PLACES: usize = 8;

/// Returns an expression with its limits and derivatives calculated; `None` if it has none, too many, or unknown ones.
pub(crate) fn calculated(expression: &Expression, fuel: &mut u64) -> Option<Expression> {
    let mut value = None;
    for _ in 0..MOST_PLACES {
        let current = value.as_ref().unwrap_or(expression);
        let Some(node) = first(current) else { return value };
        let known = value_of(node, fuel)?;
        value = Some(current.replaced(&|other| (other == node).then(|| known.clone())));
    }
    None
}

fn value_of(node: &Expression, fuel: &mut u64) -> Option<Expression> {
    let Expression::Function(name, parts) = node else { return None };
    match parts.as_slice() {
        [Expression::Symbol(variable), end, body] => limit(variable, end, body, fuel),
        [body] => {
            let operator = pattern!(
                r"^\\frac\{(d|\\partial)(?:\^([1-9]))?\}\{(?:d|\\partial) ([^ ^]+?)(?:\^[1-9])?\}$"
            );
            let parts = operator.captures(name)?;
            let (partial, variable) = (&parts[1] != "d", &parts[3]);
            let orders = parts.get(2).map_or(Ok(1), |order| order.as_str().parse()).ok()?;
            // `y` may be a function of `x`.
            let implicit = !partial && variable != "y" && body.variables().contains("y");
            let again = |body: Expression, _| derivative(&body, variable);
            (0..orders).try_fold(body.clone(), again).filter(|_| !implicit)
        }
        _ => None,
    }
}

/// Finds an innermost limit or derivative.
fn first(expression: &Expression) -> Option<&Expression> {
    let calculus = matches!(expression, Expression::Function(name, _)
        if name == "lim" || name.starts_with("\\frac{d") || name.starts_with("\\frac{\\partial"));
    expression.parts().find_map(first).or_else(|| calculus.then_some(expression))
}

/// Returns the derivative, with `f'` for an unknown function `f`; `None` if a rule is missing, or it grows too long.
fn derivative(expression: &Expression, name: &str) -> Option<Expression> {
    let mut nodes = MOST_NODES;
    differentiate(expression, name, &mut nodes)
}

fn differentiate(expression: &Expression, name: &str, nodes: &mut usize) -> Option<Expression> {
    let terms = if let Expression::Product(factors) = expression { factors.len() } else { 1 };
    *nodes = nodes.checked_sub(terms * expression.size())?;
    let number = Expression::integer;
    let times = |a: Expression, b: Expression| product(vec![a, b]);
    let mut inner = |part: &Expression| differentiate(part, name, nodes);
    if !expression.holds(name) {
        return Some(number(0));
    }
    Some(match expression {
        // The variable itself.
        Expression::Number(_) | Expression::Symbol(_) => number(1),
        Expression::Sum(terms) => sum(terms.iter().map(inner).collect::<Option<Vec<_>>>()?),
        Expression::Negative(part) => -inner(part)?,
        Expression::Product(factors) => {
            let mut terms = Vec::new();
            for (place, factor) in factors.iter().enumerate() {
                let mut term = factors.clone();
                term[place] = inner(factor)?;
                terms.push(product(term));
            }
            sum(terms)
        }
        Expression::Quotient(top, bottom) => {
            let (above, below) = (inner(top)?, inner(bottom)?);
            let rise = times(above, (**bottom).clone()) - times((**top).clone(), below);
            rise / Expression::power((**bottom).clone(), number(2))
        }
        Expression::Root(part, index) => {
            let slope = inner(part)?;
            let less = i64::from(*index) - 1;
            slope / times(number(less + 1), Expression::power(expression.clone(), number(less)))
        }
        // No power of 1, whose derivative would hold one of 0.
        Expression::Power(base, exponent)
            if exponent.literal().is_some_and(|n| n == Rational::from(2)) =>
        {
            product(vec![number(2), (**base).clone(), inner(base)?])
        }
        // (u^v)' = u^v (v' ln u + v u'/u)
        Expression::Power(base, exponent) => {
            let (rise, growth) = (inner(base)?, inner(exponent)?);
            let logarithm = Expression::function("ln", [(**base).clone()]);
            let below = match exponent.literal() {
                Some(exponent) => Expression::Number(exponent - Rational::ONE),
                None => (**exponent).clone() + number(-1),
            };
            let power = Expression::power((**base).clone(), below);
            let polynomial = product(vec![(**exponent).clone(), power, rise]);
            if growth == number(0) {
                polynomial
            } else {
                sum(vec![product(vec![expression.clone(), logarithm, growth]), polynomial])
            }
        }
        Expression::Function(function, parts) if parts.len() == 1 => {
            times(outer(function, &parts[0])?, inner(&parts[0])?)
        }
        Expression::Function(..) => return None,
    })
}

/// Returns the derivative of a function at its argument.
fn outer(function: &str, argument: &Expression) -> Option<Expression> {
    let call = |name: &str| Expression::function(name, [argument.clone()]);
    let one = || Expression::integer(1);
    let square = |value| Expression::power(value, Expression::integer(2));
    Some(match function {
        "sin" => call("cos"),
        "cos" => -call("sin"),
        "tan" => one() / square(call("cos")),
        "cot" => -(one() / square(call("sin"))),
        "exp" => call("exp"),
        "ln" => one() / argument.clone(),
        "sinh" => call("cosh"),
        "cosh" => call("sinh"),
        "arctan" => one() / (one() + square(argument.clone())),
        "arcsin" => one() / Expression::root(one() - square(argument.clone()), 2),
        "arccos" => -outer("arcsin", argument)?,
        "sec" => call("sec") * call("tan"),
        name if is_plain_function(name) => call(&format!("{name}'")),
        _ => return None,
    })
}

/// Returns the product without factors of 1; 0 if one of them is 0.
fn product(factors: Vec<Expression>) -> Expression {
    let is = |factor: &Expression, value: i64| *factor == Expression::integer(value);
    if factors.iter().any(|factor| is(factor, 0)) {
        return Expression::integer(0);
    }
    Expression::product(factors.into_iter().filter(|factor| !is(factor, 1)).collect())
}

/// Returns the sum without terms of 0.
fn sum(terms: Vec<Expression>) -> Expression {
    let zero = Expression::integer(0);
    let terms: Vec<_> = terms.into_iter().filter(|term| *term != zero).collect();
    if terms.is_empty() { zero } else { Expression::sum(terms) }
}

/// Returns the limit of an expression in one variable; `None` where a function may jump.
fn limit(name: &str, end: &Expression, body: &Expression, fuel: &mut u64) -> Option<Expression> {
    let jumps = |node: &Expression| match node {
        Expression::Function(function, parts) => {
            is_plain_function(function) || parts.len() != 1 || outer(function, &parts[0]).is_none()
        }
        _ => false,
    };
    // `f` may depend on `x`.
    let hidden = body.has_variable() && !body.holds(name);
    if hidden || body.any(&jumps) {
        return None;
    }
    let zero = Expression::integer(0);
    let inverse = Expression::integer(1) / Expression::symbol(name);
    // At infinity, of 1/x at 0.
    let (body, end) = match end {
        end if end.is_symbol("\\infty") => (plain(&body.with(name, &inverse)), &zero),
        Expression::Negative(inner) if inner.is_symbol("\\infty") => {
            (plain(&body.with(name, &-inverse)), &zero)
        }
        end => (body.clone(), end),
    };
    // u^v = e^{v ln u}
    if let Expression::Power(base, exponent) = &body
        && exponent.holds(name)
        && base.holds(name)
    {
        let logarithm = Expression::function("ln", [(**base).clone()]);
        let exponent = quotient_at(name, end, &((**exponent).clone() * logarithm), fuel)?;
        return Some(Expression::power(Expression::symbol("e"), exponent));
    }
    quotient_at(name, end, &body, fuel)
}

fn quotient_at(
    name: &str,
    end: &Expression,
    body: &Expression,
    fuel: &mut u64,
) -> Option<Expression> {
    let (mut top, mut bottom) = as_quotient(body);
    for _ in 0..MOST_ORDERS {
        let at_end = |side: &Expression| side.with(name, end);
        if !vanishes(&at_end(&bottom), fuel)? {
            return Some(at_end(&top) / at_end(&bottom));
        }
        if !vanishes(&at_end(&top), fuel)? {
            return None;
        }
        (top, bottom) = (derivative(&top, name)?, derivative(&bottom, name)?);
    }
    None
}

/// Returns an expression with the arguments of functions and the bases of powers as one quotient each.
fn plain(expression: &Expression) -> Expression {
    let quotient = |part: &Expression| {
        let (top, bottom) = as_quotient(part);
        top / bottom
    };
    expression.replaced(&|node| match node {
        Expression::Function(name, parts) => {
            Some(Expression::Function(name.clone(), parts.iter().map(quotient).collect()))
        }
        Expression::Power(base, exponent) if exponent.literal().is_none() => {
            Some(Expression::power(quotient(base), (**exponent).clone()))
        }
        Expression::Root(part, index) => Some(Expression::root(quotient(part), *index)),
        _ => None,
    })
}

/// Returns true if a constant is 0; `None` if it is not known.
fn vanishes(value: &Expression, fuel: &mut u64) -> Option<bool> {
    match numeric::compare(value, &Expression::integer(0), fuel) {
        Enclosures::Equal => Some(true),
        Enclosures::Different(_) => Some(false),
        Enclosures::Unknown => None,
    }
}

/// Returns top and bottom of an expression as one quotient.
fn as_quotient(expression: &Expression) -> (Expression, Expression) {
    let times = |a: Expression, b: Expression| product(vec![a, b]);
    match expression {
        Expression::Quotient(top, bottom) => {
            let ((a, b), (c, d)) = (as_quotient(top), as_quotient(bottom));
            (times(a, d), times(b, c))
        }
        Expression::Product(factors) => {
            let (tops, bottoms) = factors.iter().map(as_quotient).unzip();
            (product(tops), product(bottoms))
        }
        Expression::Sum(terms) => {
            let quotients: Vec<_> = terms.iter().map(as_quotient).collect();
            let term = |place: usize| {
                let factor = |(other, (top, bottom)): (usize, &(Expression, Expression))| {
                    if other == place { top.clone() } else { bottom.clone() }
                };
                product(quotients.iter().enumerate().map(factor).collect())
            };
            let bottoms = quotients.iter().map(|(_, bottom)| bottom.clone());
            (sum((0..terms.len()).map(term).collect()), product(bottoms.collect()))
        }
        other => (other.clone(), Expression::integer(1)),
    }
}
