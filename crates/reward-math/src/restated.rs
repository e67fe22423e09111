//! Answers that only repeat what the question asks to calculate: `\boxed{\int_0^1 x^2\,dx}` has the value of 1/3.

use crate::answer::{Answer, Node};
use crate::expression::Expression;
use crate::relation;
use crate::table::pattern;

/// Most formulas of a question that are parsed, and the most bytes of them.
const MOST_FORMULAS: (usize, usize) = (32, 4096);

/// Returns true if a right answer calculates nothing: it is the formula that the question asks to calculate, or a formula of
/// the question, or an integral, sum or limit of it, where the ground truth is simpler.
pub(crate) fn restates(answer: &str, gold: &Answer, question: &str) -> bool {
    let Ok(answer) = Answer::parse(answer) else { return false };
    let last = sides(&answer).last().and_then(Node::expression);
    let (Some(value), Some(gold_value)) = (last, value(gold)) else { return false };
    if gold.is_choice() || same_but_for_order(value, gold_value) {
        return false;
    }
    // Determinants and derivatives are calculated when they are read.
    let calculated = pattern!(r"\\begin\{vmatrix\}|\\det|\\frac\{(?:d|\\partial)|\\frac d")
        .is_match(&answer.spelling)
        && answer.spelling.len() > gold.spelling.len();
    let missing = |node: &Expression| match node {
        Expression::Function(name, _) => !gold_value.any(&|node| calls(node, name)),
        _ => false,
    };
    let open = |node: &Expression| match node {
        Expression::Function(name, _) => is_open(name) && missing(node),
        _ => false,
    };
    let longer = value.size() > gold_value.size() || value.any(&missing);
    let repeats = |(formula, commanded): (&str, bool)| {
        let Ok(formula) = Answer::parse(formula) else { return false };
        let same = |asked: &Expression| {
            value == asked && (commanded || longer && !is_plain(value))
                || value.any(&|node| open(node) && asked.any(&|part| part == node))
        };
        calculated && formula.spelling == answer.spelling
            || sides(&formula).iter().filter_map(Node::expression).any(same)
    };
    let mut bytes = 0;
    let formulas = formulas(question).take(MOST_FORMULAS.0).take_while(|(formula, _)| {
        bytes += formula.len();
        bytes <= MOST_FORMULAS.1
    });
    formulas.into_iter().any(repeats)
}

/// Returns the sides of a chain, or the only reading.
fn sides(answer: &Answer) -> &[Node] {
    match answer.readings.as_deref() {
        Ok([Node::Chain { sides, .. }, ..]) => sides,
        Ok([only, ..]) => std::slice::from_ref(only),
        _ => &[],
    }
}

/// Returns the value of a ground truth, behind its label if it has one; none of an equation.
fn value(gold: &Answer) -> Option<&Expression> {
    let first = gold.readings.as_ref().ok()?.first()?;
    let labelled = relation::labelled(first).filter(|(label, _)| relation::is_label(label));
    labelled.map_or(first, |(_, value)| value).expression()
}

/// Returns the formulas of a question, also "12 * 13" of "What is 12 * 13?"; true for those behind "evaluate" and the like.
fn formulas(question: &str) -> impl Iterator<Item = (&str, bool)> {
    let formula = pattern!(
        r"(?is)\$\$?([^$]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]|\b(?:‹asks to calculate›)(?: the (?:exact )?value of)?:? ([^$\\?\n]*[0-9][^$\\?\n]*?)(?:[?\n]|\.\s|\.?$)"
    );
    let command = pattern!(
        r"(?i)(?:‹asks to calculate›|value of)(?: (?:the|an?|of|each|following|exact|expression|product|quotient|sum|difference|fraction|polynomial|number|integral|limit|determinant|completely|fully))*:?\s*$"
    );
    formula.captures_iter(question).filter_map(|formula| {
        let inner = formula.iter().skip(1).flatten().next()?;
        let text = inner.as_str().trim_matches(|c: char| c.is_whitespace() || ",.;:?".contains(c));
        let start = formula.get(0)?.start();
        Some((text, formula.get(4).is_some() || command.is_match(&question[..start])))
    })
}

/// Returns true for operations that leave the work to the reader.
fn is_open(name: &str) -> bool {
    matches!(name, "int" | "sum" | "prod" | "lim")
}

fn calls(node: &Expression, name: &str) -> bool {
    node.arguments_of(name).is_some()
}

/// Returns true for equal expressions, and sums or products with the same parts.
fn same_but_for_order(left: &Expression, right: &Expression) -> bool {
    match (left, right) {
        (Expression::Sum(a), Expression::Sum(b))
        | (Expression::Product(a), Expression::Product(b)) => {
            a.len() == b.len() && a.iter().all(|part| b.contains(part))
        }
        _ => left == right,
    }
}

/// Returns true for a number or name, and fractions, roots and multiples of them: an answer may be one of the question's.
fn is_plain(value: &Expression) -> bool {
    let is_number = |factor: &Expression| !factor.any(&|node| node.as_symbol().is_some());
    match value {
        Expression::Number(_) | Expression::Symbol(_) => true,
        Expression::Negative(inner) => is_plain(inner),
        Expression::Root(inner, _) => inner.literal().is_some(),
        Expression::Quotient(top, bottom) => is_plain(top) && is_plain(bottom),
        Expression::Product(factors) => {
            let multiple =
                |factor: &&Expression| is_number(factor) && !matches!(factor, Expression::Root(..));
            factors.iter().filter(multiple).count() <= 1 && factors.iter().all(is_plain)
        }
        Expression::Function(name, inner) => name == "degrees" && inner.iter().all(is_plain),
        Expression::Sum(_) | Expression::Power(..) => false,
    }
}
