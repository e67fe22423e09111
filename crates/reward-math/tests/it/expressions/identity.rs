//! Laws that preserve the value of an expression of positive variables.

use super::tree::{Function, Random, Tree, negative, number, of, power, quotient};

/// Returns the expression with one law applied at a random node, if it fits.
pub(crate) fn rewritten(tree: &Tree, random: &mut Random) -> Tree {
    let mut node_number = random.below(tree.size());
    tree.changed_at(&mut node_number, &mut |node| law(node, random))
}

fn law(node: &Tree, random: &mut Random) -> Tree {
    let copy = || node.clone();
    let special = match node {
        Tree::Sum(items) => of_sum(items, random),
        Tree::Product(items) => of_product(items, random),
        Tree::Quotient(a, b) => match random.below(3) {
            0 => Some(Tree::Product(vec![(**a).clone(), power((**b).clone(), -1)])),
            1 => match &**a {
                // (a + b)/c = a/c + b/c
                Tree::Sum(terms) => Some(Tree::Sum(
                    terms.iter().map(|term| quotient(term.clone(), (**b).clone())).collect(),
                )),
                _ => None,
            },
            _ => Some(quotient(
                Tree::Product(vec![(**a).clone(), Tree::Number(6)]),
                Tree::Product(vec![Tree::Number(6), (**b).clone()]),
            )),
        },
        Tree::Power(base, exponent) => of_power(base, *exponent),
        Tree::Root(inner, 2) => match (&**inner, random.below(2)) {
            // √a = a/√a, for a that is not 0
            (Tree::Number(_), _) | (_, 0) => Some(quotient((**inner).clone(), copy())),
            // √(4a) = 2√a
            _ => Some(Tree::Product(vec![
                quotient(Tree::Number(1), Tree::Number(2)),
                Tree::Root(Box::new(Tree::Product(vec![Tree::Number(4), (**inner).clone()])), 2),
            ])),
        },
        Tree::Of(function, argument) => Some(of_function(*function, argument, random)),
        Tree::Factorial(n) if *n > 0 => {
            Some(Tree::Product(vec![Tree::Number(*n), Tree::Factorial(n - 1)]))
        }
        Tree::Binomial(n, k) => Some(Tree::Binomial(*n, n - k)),
        _ => None,
    };
    special.unwrap_or_else(|| anything(node, random))
}

/// Applies one of the laws that hold for any expression.
fn anything(node: &Tree, random: &mut Random) -> Tree {
    let copy = || node.clone();
    match random.below(5) {
        0 => Tree::Sum(vec![copy(), number(5), negative(number(5))]),
        1 => quotient(Tree::Product(vec![number(3), copy()]), number(3)),
        2 => Tree::Sum(vec![Tree::Product(vec![number(2), copy()]), negative(copy())]),
        3 => negative(negative(copy())),
        _ => power(power(copy(), 1), 1),
    }
}

fn of_sum(items: &[Tree], random: &mut Random) -> Option<Tree> {
    match (items, random.below(3)) {
        // a/b + c/d = (ad + cb)/(bd)
        ([Tree::Quotient(a, b), Tree::Quotient(c, d), ..], _) if items.len() == 2 => {
            let (a, b, c, d) = ((**a).clone(), (**b).clone(), (**c).clone(), (**d).clone());
            Some(quotient(
                Tree::Sum(vec![
                    Tree::Product(vec![a, d.clone()]),
                    Tree::Product(vec![c, b.clone()]),
                ]),
                Tree::Product(vec![b, d]),
            ))
        }
        ([first, rest @ ..], 0) if !rest.is_empty() => {
            // The order, and brackets around a part.
            let mut rest = rest.to_vec();
            rest.reverse();
            Some(Tree::Sum(vec![Tree::Sum(rest), first.clone()]))
        }
        // a - b = -(b - a)
        ([a, Tree::Negative(b)], _) => {
            Some(negative(Tree::Sum(vec![(**b).clone(), negative(a.clone())])))
        }
        _ => None,
    }
}

fn of_product(items: &[Tree], random: &mut Random) -> Option<Tree> {
    let (first, rest) = items.split_first()?;
    // (a + b) c = ac + bc
    if let (Tree::Sum(terms), 0..=1) = (first, random.below(3)) {
        let times = |term: &Tree| {
            let mut factors = vec![term.clone()];
            factors.extend_from_slice(rest);
            Tree::Product(factors)
        };
        return Some(Tree::Sum(terms.iter().map(times).collect()));
    }
    if rest.is_empty() {
        return None;
    }
    let mut turned = rest.to_vec();
    turned.push(first.clone());
    Some(Tree::Product(turned))
}

fn of_power(base: &Tree, exponent: i64) -> Option<Tree> {
    match (base, exponent) {
        // (a + b)² = a² + 2ab + b²
        (Tree::Sum(terms), 2) if terms.len() == 2 => {
            let (a, b) = (terms[0].clone(), terms[1].clone());
            Some(Tree::Sum(vec![
                power(a.clone(), 2),
                Tree::Product(vec![number(2), a, b.clone()]),
                power(b, 2),
            ]))
        }
        (Tree::Product(factors), _) => {
            Some(Tree::Product(factors.iter().map(|f| power(f.clone(), exponent)).collect()))
        }
        (_, 2..=3) => Some(Tree::Product(vec![base.clone(), power(base.clone(), exponent - 1)])),
        (_, -1) => Some(quotient(number(1), base.clone())),
        _ => None,
    }
}

fn of_function(function: Function, argument: &Tree, random: &mut Random) -> Tree {
    let a = || argument.clone();
    let half = || quotient(a(), number(2));
    match (function, random.below(2)) {
        (Function::Sine, 0) => {
            Tree::Product(vec![number(2), of(Function::Sine, half()), of(Function::Cosine, half())])
        }
        (Function::Sine, _) => match argument {
            Tree::Sum(terms) if terms.len() == 2 => {
                let (p, q) = (terms[0].clone(), terms[1].clone());
                let product = |f, p: &Tree, g, q: &Tree| {
                    Tree::Product(vec![of(f, p.clone()), of(g, q.clone())])
                };
                Tree::Sum(vec![
                    product(Function::Sine, &p, Function::Cosine, &q),
                    product(Function::Cosine, &p, Function::Sine, &q),
                ])
            }
            _ => negative(of(Function::Sine, negative(a()))),
        },
        (Function::Cosine, 0) => Tree::Sum(vec![
            number(1),
            negative(Tree::Product(vec![number(2), power(of(Function::Sine, half()), 2)])),
        ]),
        (Function::Cosine, _) => of(Function::Cosine, negative(a())),
        (Function::Tangent, _) => quotient(of(Function::Sine, a()), of(Function::Cosine, a())),
        // Arguments of logarithms are positive here.
        (Function::Logarithm, _) => match argument {
            Tree::Product(factors) => {
                Tree::Sum(factors.iter().map(|f| of(Function::Logarithm, f.clone())).collect())
            }
            Tree::Power(base, exponent) => {
                Tree::Product(vec![number(*exponent), of(Function::Logarithm, (**base).clone())])
            }
            _ => Tree::Sum(vec![
                of(Function::Logarithm, Tree::Product(vec![number(3), a()])),
                negative(of(Function::Logarithm, number(3))),
            ]),
        },
        (Function::Exponential, 0) => power(of(Function::Exponential, half()), 2),
        (Function::Exponential, _) => quotient(number(1), of(Function::Exponential, negative(a()))),
        (Function::Absolute, _) => of(Function::Absolute, negative(a())),
    }
}
