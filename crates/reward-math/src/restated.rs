//! Answers that only repeat what the question asks to calculate: `\boxed{\int_0^1 x^2\,dx}` has the value of 1/3.

use crate::answer::{Answer, Node, Relation};
use crate::expression::Expression;
use crate::relation;
use crate::table::pattern;

/// Most formulas of a question that are parsed, and the most bytes of them.
const MOST_FORMULAS: (usize, usize) = (32, 4096);

/// Most bytes of the command before a formula.
const LONGEST_COMMAND: usize = 192;

/// Returns true if an operation is to be carried out, as in `\gcd(84, 126)` and `|3 - 4i|`.
pub(crate) fn holds_operation(side: &str) -> bool {
    let operation = pattern!(
        r"\\(?:lim|int|i+nt|oint|sum|prod|gcd|lcm|det)(?:[^a-zA-Z]|$)|vmatrix|\\frac\s*\{?\s*(?:d|\\partial)\s*[}\\]|^\|[-+0-9./\\{}a-z ]*[0-9][-+0-9./\\{}a-z ]*\|$"
    );
    operation.is_match(side)
}

/// Returns true if a right answer calculates nothing: it is the formula that the question asks to calculate, or a formula of
/// the question, or an integral, sum or limit of it, where the ground truth is simpler.
pub(crate) fn restates(answer: &str, gold: &Answer, question: &str) -> bool {
    let Ok(answer) = Answer::parse(answer) else { return false };
    let values = sides(&answer).last().and_then(Node::expression).zip(value(gold));
    let values = values.filter(|(value, gold)| !same_but_for_order(value, gold));
    // Products of matrices are calculated when they are read.
    let last = answer.spelling.rsplit('=').next().unwrap_or_default();
    let calculated = pattern!(r"\\end\{[pb]matrix\}[^a-z]*\\begin").is_match(last)
        && last.len() > gold.spelling.len();
    if !question.is_empty()
        && (holds_operation(last) && !holds_operation(&gold.spelling)
            || in_another_base(&answer.spelling, &gold.spelling))
    {
        return true;
    }
    let unsolved = unsolved(&answer).filter(|sides| Some(*sides) != self::unsolved(gold));
    if gold.is_choice() || values.is_none() && !calculated && unsolved.is_none() {
        return false;
    }
    // A plain value may be one of the question's, unless that is to be calculated.
    let only_asked =
        !calculated && unsolved.is_none() && values.is_none_or(|(value, _)| is_plain(value));
    let mut bytes = 0;
    let formulas = formulas(question).filter(|(_, asked)| *asked || !only_asked);
    let formulas = formulas.take(MOST_FORMULAS.0).take_while(|(formula, _)| {
        bytes += formula.len();
        bytes <= MOST_FORMULAS.1
    });
    let parsed =
        formulas.filter_map(|(text, asked)| Some((Answer::parse_with(text, false).ok()?, asked)));
    parsed.into_iter().any(|(formula, asked)| {
        calculated && formula.spelling == last
            || unsolved.is_some() && self::unsolved(&formula) == unsolved
            || values.is_some_and(|(value, gold)| {
                let mut sides = sides(&formula).iter().filter_map(Node::expression);
                sides.any(|side| repeats(value, gold, side, asked))
            })
    })
}

/// Returns the sides of `|2x - 3| < 5`, alone or as what holds of the members of a set; none is a name.
fn unsolved(answer: &Answer) -> Option<&[Node]> {
    let reading = answer.readings.as_ref().ok()?.first()?;
    let stated = match reading {
        Node::Builder { conditions, .. } => {
            conditions.iter().find(|stated| stated.membership().is_none())?
        }
        reading => reading,
    };
    let Node::Chain { sides, relations } = stated else { return None };
    let plain =
        sides.iter().all(|side| side.plain().is_some_and(|side| side.as_symbol().is_none()));
    (plain && relations.iter().all(|sign| *sign != Relation::In)).then_some(sides)
}

/// Returns true for 13 where `1101_2` is asked for, and the reverse.
fn in_another_base(answer: &str, gold: &str) -> bool {
    let based = pattern!(r"^\(?([0-9A-Z]+)\)?_\{?([0-9]+)\}?$");
    let parts = |text| based.captures(text).map(|parts| (parts[1].to_owned(), parts[2].to_owned()));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match (parts(answer), parts(gold)) {
        (Some((_, base)), Some((_, other))) => base != other,
        (None, Some((digits, _))) => plain(answer) && answer != digits,
        (Some((digits, _)), None) => plain(gold) && gold != digits,
        (None, None) => false,
    }
}

/// Returns true if the value repeats a formula or its integral, sum or limit; unless asked for, longer than the truth.
fn repeats(value: &Expression, gold: &Expression, formula: &Expression, asked: bool) -> bool {
    let missing = |node: &Expression| match node {
        Expression::Function(name, _) => !gold.any(&|node| node.arguments_of(name).is_some()),
        _ => false,
    };
    let open = |node: &Expression| node.is_call("int sum prod lim") && missing(node);
    let longer = value.size() > gold.size() || value.any(&missing);
    same_but_for_order(value, formula) && (asked || longer && !is_plain(value))
        || value.any(&|node| open(node) && formula.any(&|part| part == node))
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
    let near = |end: usize| question.ceil_char_boundary(end.saturating_sub(LONGEST_COMMAND));
    formula.captures_iter(question).filter_map(move |formula| {
        let inner = formula.iter().skip(1).flatten().next()?;
        let text = inner.as_str().trim_matches(|c: char| c.is_whitespace() || ",.;:?".contains(c));
        let start = formula.get(0)?.start();
        Some((text, formula.get(4).is_some() || command.is_match(&question[near(start)..start])))
    })
}

/// Returns true for equal expressions, up to the order of terms and factors; how often each occurs is not compared.
fn same_but_for_order(left: &Expression, right: &Expression) -> bool {
    use Expression::{Function, Negative, Power, Product, Quotient, Root, Sum};
    const MOST: usize = 32;
    let all = |a: &[Expression], b: &[Expression]| {
        a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| same_but_for_order(a, b))
    };
    match (left, right) {
        (Sum(a), Sum(b)) | (Product(a), Product(b)) if a.len() <= MOST && a.len() == b.len() => {
            a.iter().all(|part| b.iter().any(|other| same_but_for_order(part, other)))
        }
        (Function(a, parts), Function(b, others)) => a == b && all(parts, others),
        (Negative(a), Negative(b)) => same_but_for_order(a, b),
        (Root(a, m), Root(b, n)) => m == n && same_but_for_order(a, b),
        (Quotient(a, b), Quotient(c, d)) | (Power(a, b), Power(c, d)) => {
            same_but_for_order(a, c) && same_but_for_order(b, d)
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
