//! Functions without their argument, as factors, and derivatives by primes: `x(t)` as `x`, `\frac{dx}{dt}` as `x'`.

use std::collections::BTreeMap;

use crate::answer::Node;
use crate::expression::Expression;
use crate::relation::applied;
use crate::table::pattern;

/// Names of functions with the only argument that each has.
type Arguments = BTreeMap<String, String>;

/// The readings of the response and of the ground truth.
type Both = (Vec<Node>, Vec<Node>);

type Way = fn(&[Node], &[Node]) -> Option<Both>;

/// Returns the other ways to read both answers.
pub(super) fn variants(response: &[Node], gold: &[Node]) -> impl Iterator<Item = Both> {
    let ways: [Way; 6] =
        [bare, as_products, in_radians, with_planck, with_imaginary_j, with_negative_constant];
    ways.into_iter().filter_map(move |way| way(response, gold))
}

/// Returns both answers with each reading changed, beside those of the other; `None` if that changes nothing.
fn changed(response: &[Node], gold: &[Node], by: impl Fn(&Node, &[Node]) -> Node) -> Option<Both> {
    let all = |nodes: &[Node], others: &[Node]| -> Vec<Node> {
        nodes.iter().map(|node| by(node, others)).collect()
    };
    let (first, second) = (all(response, gold), all(gold, response));
    (first != response || second != gold).then_some((first, second))
}

/// Returns both answers with functions and derivatives as names; `None` if a function has several arguments.
fn bare(response: &[Node], gold: &[Node]) -> Option<Both> {
    let mut arguments = Arguments::new();
    let (mut plain, mut primes) = (true, false);
    for node in response.iter().chain(gold) {
        let _copy = node.mapped(&mut |expression| {
            plain &= collect(expression, &mut arguments);
            primes |= expression.any(&|part| {
                matches!(part, Expression::Symbol(name)
                    if name.contains('\'') || name.starts_with("\\dot") || name.starts_with("\\ddot"))
            });
            expression.clone()
        });
    }
    let one = |node: &Node, _: &[Node]| node.mapped(&mut |expression| named(expression, primes));
    plain.then(|| changed(response, gold, one))?
}

/// Returns `-\frac{1}{x + C}` as `\frac{1}{C - x}`: any constant is the negative of one.
fn with_negative_constant(response: &[Node], gold: &[Node]) -> Option<Both> {
    let holds = |nodes: &[Node]| nodes.iter().all(|node| node.names().contains("C"));
    let negative = response.iter().map(|node| node.with("C", &-Expression::symbol("C")));
    (holds(response) && holds(gold)).then(|| (negative.collect(), gold.to_vec()))
}

/// Returns `3 + 4j` as `3 + 4i`, beside an answer with `i`.
fn with_imaginary_j(response: &[Node], gold: &[Node]) -> Option<Both> {
    let holds = |nodes: &[Node], name: &str| {
        let sides = nodes.iter().flat_map(|node| match node {
            Node::Chain { sides, .. } => sides,
            other => std::slice::from_ref(other),
        });
        sides.filter_map(Node::expression).any(|side| side.holds(name))
    };
    let other = [(response, gold), (gold, response)]
        .into_iter()
        .any(|(nodes, others)| holds(nodes, "i") && !holds(nodes, "j") && !holds(others, "i"));
    other.then(|| changed(response, gold, |node, _| node.renamed("j", "i")))?
}

/// Returns `g(\sin x - \cos x)` as a product in each answer, where `g` is a quantity of the other.
fn as_products(response: &[Node], gold: &[Node]) -> Option<Both> {
    let usual = |name: &String| matches!(name.as_str(), "x" | "y" | "z" | "t" | "n" | "k");
    changed(response, gold, |node, others| {
        let is_known = |name: &str| others.iter().any(|other| other.names().contains(name));
        let product = |node: &Expression| {
            // `h(2mE)^{-1/2}`: the power of the bracket.
            let (call, power) = match node {
                Expression::Power(call, power) => (&**call, Some(&**power)),
                call => (call, None),
            };
            let Expression::Function(name, arguments) = call else { return None };
            let [sum] = arguments.as_slice() else { return None };
            // `f(t + 1)` is a value of a function, `V(1 - e^{-t})` of a quantity is none.
            let capital = name.starts_with(char::is_uppercase);
            // `P(1.05)^n`
            let is_factor = match sum {
                Expression::Sum(_) | Expression::Product(_) => true,
                Expression::Number(value) => capital && !value.is_int(),
                _ => false,
            };
            let is_quantity = name != "f" && (capital || !sum.variables().iter().any(usual));
            (is_quantity && is_factor && is_known(name)).then(|| {
                let factor = sum.clone();
                let raised = match power {
                    Some(power) => Expression::power(factor, power.clone()),
                    None => factor,
                };
                Expression::symbol(name) * raised
            })
        };
        node.mapped(&mut |expression| expression.replaced(&product))
    })
}

/// Returns both answers with angles in radians, if one has degrees and the other `\pi`: `45^\circ < x` and `x > \frac\pi4`.
fn in_radians(response: &[Node], gold: &[Node]) -> Option<Both> {
    let with_pi = |nodes: &[Node]| {
        let mut holds = false;
        for node in nodes {
            let _copy = node.mapped(&mut |side| {
                holds |= side.holds("\\pi");
                side.clone()
            });
        }
        holds
    };
    changed(response, gold, |node, _| radians(node)).filter(|(first, second)| {
        first != response && with_pi(gold) || second != gold && with_pi(response)
    })
}

fn radians(node: &Node) -> Node {
    let all = |nodes: &[Node]| nodes.iter().map(radians).collect();
    match node {
        Node::Value { expression, unit: Some(unit) } if unit == "degree" => {
            Expression::function("degrees", [expression.clone()]).into()
        }
        Node::List { open, close, items } => {
            Node::List { open: *open, close: *close, items: all(items) }
        }
        Node::Joined(combination, parts) => Node::Joined(*combination, all(parts)),
        Node::Chain { sides, relations } => {
            Node::Chain { sides: all(sides), relations: relations.clone() }
        }
        other => other.clone(),
    }
}

/// Returns both answers with `h/2\pi` for `\hbar`; `None` unless they hold both.
fn with_planck(response: &[Node], gold: &[Node]) -> Option<Both> {
    response.iter().chain(gold).find(|node| node.names().contains("h"))?;
    let circle = Expression::integer(2) * Expression::symbol("\\pi");
    let constant = Expression::symbol("h") / circle;
    changed(response, gold, |node, _| node.with("\\hbar", &constant))
}

/// Collects the functions of one name; false if one of them is taken at two names.
fn collect(expression: &Expression, arguments: &mut Arguments) -> bool {
    let mut plain = true;
    if let Some((name, argument)) = applied(expression) {
        let known = arguments.entry(name.to_owned()).or_insert_with(|| argument.to_owned());
        plain = known == argument;
    }
    expression.parts().all(|part| collect(part, arguments)) && plain
}

fn named(expression: &Expression, primes: bool) -> Expression {
    expression.replaced(&|node| {
        let name = match node {
            // `f_x`, `u_{xx}`
            Expression::Symbol(name) if name.starts_with("\\partial") => {
                let derivative = pattern!(
                    r"^\\partial(?:\^([2-4]))?([A-Za-z]+)/\\partial([A-Za-z])(?:\^([2-4]))?$"
                );
                let parts = derivative.captures(name)?;
                let order = |group: usize| parts.get(group).map_or("1", |order| order.as_str());
                let variables = parts[3].repeat(order(1).parse().unwrap_or(1));
                (order(1) == order(4)).then(|| format!("{}_{variables}", &parts[2]))?
            }
            // `\vec b`, printed in bold elsewhere
            Expression::Symbol(name) => name.strip_prefix("\\vec ").unwrap_or(name).to_owned(),
            node => applied(node)?.0.to_owned(),
        };
        Some(Expression::Symbol(if primes { with_primes(&name) } else { name }))
    })
}

/// Returns `x''` for `d^2x/dt^2` and `\ddot x`; other names stay.
fn with_primes(name: &str) -> String {
    if let Some(parts) = pattern!(r"^d(?:\^([0-9]))?([^/]+)/d[^/]+$").captures(name) {
        let order = parts.get(1).and_then(|order| order.as_str().parse().ok()).unwrap_or(1);
        return parts[2].to_owned() + &"'".repeat(order);
    }
    match name.split_once(' ') {
        Some(("\\ddot", letter)) => format!("{letter}''"),
        Some(("\\dot", letter)) => format!("{letter}'"),
        _ => name.to_owned(),
    }
}
