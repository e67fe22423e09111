//! Notations with a value of their own: continued fractions, spans, decisions of a test.

use std::borrow::Cow;

use dashu::Integer;
use regex::Captures;

use super::{Node, Relation};
use crate::expression::Expression;
use crate::table::{pattern, without};

/// Most partial quotients of a continued fraction, vectors and coordinates of a span.
const MOST: usize = 16;

/// Replaces `[1; 2, 3]`, `[1; \overline{2, 3}]` and `[1; 2, 2, 2, \ldots]` by their values; `None` if there is none.
pub(super) fn with_continued_fractions(folded: &str) -> Option<String> {
    let notation = pattern!(
        r"\[\s*(-?[0-9]{1,9})\s*;\s*((?:[0-9]{1,9}\s*,\s*)*)(?:\\overline\s*\{([0-9,\s]{1,64})\}|([0-9]{1,9})|(\\[lc]?dots))\s*\]"
    );
    if !folded.contains('[') || !folded.contains(';') {
        return None;
    }
    let plain = pattern!(r"\\(?:left|right|[,;!\x20])").replace_all(folded, "");
    let mut any = false;
    let value = |parts: &Captures<'_>| {
        let value = continued_fraction(parts);
        any |= value.is_some();
        value.unwrap_or_else(|| parts[0].to_owned())
    };
    let replaced = notation.replace_all(&plain, value).into_owned();
    any.then_some(replaced)
}

/// Returns the value of a continued fraction in LaTeX, from its parts: the first quotient, others, the period, the last, dots.
fn continued_fraction(parts: &Captures<'_>) -> Option<String> {
    let numbers = |text: &str| -> Option<Vec<Integer>> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().ok()).collect()
    };
    let mut first = vec![parts[1].parse::<Integer>().ok()?];
    first.extend(numbers(&parts[2])?);
    let mut period = parts.get(3).map_or(Some(Vec::new()), |period| numbers(period.as_str()))?;
    if parts.get(5).is_some() {
        // `2, 2, 2, \ldots`
        let last = first.get(1)?.clone();
        let repeats = first.len() > 3 && first[1..].iter().all(|number| *number == last);
        first.truncate(1);
        period = repeats.then(|| vec![last])?;
    }
    first.extend(parts.get(4).and_then(|last| last.as_str().parse().ok()));
    // `[1; 2]` may be an interval. A quotient of 0 may lead to a denominator of 0.
    let positive = first[1..].iter().chain(&period).all(|number| *number > Integer::ZERO);
    if !positive || first.len() + period.len() > MOST || period.is_empty() && first.len() < 3 {
        return None;
    }
    // `[a, b, c, d]`: the value is `(a t + b) / (c t + d)`, where `t` is the rest.
    let convergents = |numbers: &[Integer]| {
        let start = [1, 0, 0, 1].map(Integer::from);
        numbers.iter().fold(start, |[a, b, c, d], n| [&a * n + b, a, &c * n + d, c])
    };
    let [top, top_start, bottom, bottom_start] = convergents(&first);
    if period.is_empty() {
        return Some(format!("\\frac{{{top}}}{{{bottom}}}"));
    }
    // `t = (a t + b) / (c t + d)`
    let [a, b, c, d] = convergents(&period);
    let spread = d - a;
    let radicand = &spread * &spread + Integer::from(4) * &c * b;
    let rest = format!("\\frac{{\\sqrt{{{radicand}}}-({spread})}}{{{}}}", Integer::from(2) * c);
    Some(format!("\\frac{{{top}{rest}+({top_start})}}{{{bottom}{rest}+({bottom_start})}}"))
}

/// Returns the sums of multiples of the vectors of `\operatorname{span}\{(1, -2)\}`, from what stands behind its name.
pub(super) fn span(vectors: &Node) -> Option<Node> {
    let vectors = match vectors {
        Node::List { open: '{', items, .. } => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let entries = |vector: &Node| -> Option<Vec<Expression>> {
        match vector {
            Node::List { open: '(' | '[', items, .. } => {
                items.iter().map(|item| item.plain().cloned()).collect()
            }
            Node::Matrix(rows) => Some(rows.concat()),
            _ => None,
        }
    };
    let rows: Vec<Vec<Expression>> = vectors.iter().map(entries).collect::<Option<_>>()?;
    let width = rows.first()?.len();
    if rows.len() > MOST || width > MOST || rows.iter().any(|row| row.len() != width) {
        return None;
    }
    let name = |place: usize| Expression::symbol(&format!("t_{place}"));
    let coordinate = |column: usize| {
        let terms = rows.iter().enumerate().map(|(place, row)| name(place) * row[column].clone());
        Node::from(Expression::sum(terms.collect()))
    };
    let running = |place: usize| Node::Chain {
        sides: vec![name(place).into(), Expression::symbol("\\mathbb R").into()],
        relations: vec![Relation::In],
    };
    let head = Box::new(Node::tuple((0..width).map(coordinate).collect()));
    Some(Node::Builder { head, conditions: (0..rows.len()).map(running).collect() })
}

/// Returns `n \equiv 0, 1 \pmod 3` for `n \not\equiv 2 \pmod 3`, and the like for "all integers n not divisible by 3".
pub(super) fn other_residues(folded: &str) -> Option<String> {
    const MOST: i64 = 12;
    let left_out = pattern!(concat!(
        r"^([a-zA-Z])\s*\\not\s*\\equiv\s*(-?[0-9]{1,3})\s*(?:\\pmod\s*\{?|\(\s*\\?mod\s*)([0-9]{1,2})\s*[)}]?$",
        r"|^([0-9]{1,2})\s*\\nmid\s*([a-zA-Z])$",
        r"|^(?:\\text\s*\{)?\s*(?:[Aa]ll )?integers\s*\}?\s*([a-zA-Z])?\s*(?:\\text\s*\{)?\s*(?:that are )?not (?:divisible by|multiples of)\s*\}?\s*([0-9]{1,2})\}?$",
    ));
    let parts = left_out.captures(folded)?;
    let part = |places: [usize; 3]| places.into_iter().find_map(|place| parts.get(place));
    let name = part([1, 5, 6]).map_or("n", |name| name.as_str());
    let modulus = part([3, 4, 7])?.as_str().parse::<i64>().ok()?;
    let residue =
        part([2, 2, 2]).map_or(Some(0), |residue| residue.as_str().parse::<i64>().ok())?;
    let others = (0..modulus).filter(|other| *other != residue.rem_euclid(modulus));
    let others = others.map(|other| other.to_string()).collect::<Vec<_>>().join(", ");
    let few = (2..=MOST).contains(&modulus);
    few.then(|| format!("{name} \\equiv {others} \\pmod{{{modulus}}}"))
}

/// Returns the decision of a test, "reject" or "not reject", in "we fail to reject the null hypothesis" and the like.
pub(super) fn decision(folded: &str) -> Option<&'static str> {
    if !folded.contains("eject") {
        return None;
    }
    let plain =
        pattern!(r"\\text(?:bf|it)?|\\[,;\x20]|[{}$_.]").replace_all(folded, " ").to_lowercase();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let decision = pattern!(
        r"^(?:we |so we |therefore,? we )?(fail to |do not |don't |cannot |can't |not )?reject(?:ed)?(?: the)?(?: null hypothesis| h ?0| null)?(?: h ?0)?$"
    );
    let parts = decision.captures(&plain)?;
    Some(if parts.get(1).is_some() { "not reject" } else { "reject" })
}

/// Replaces concentrations by names: `[A]_0` by `A_{0}` and `[\text{NH}_3]` by `c_{NH3}`; `[A]_t` is `[A]`.
pub(super) fn concentrations(folded: &str) -> Cow<'_, str> {
    if !folded.contains('[') {
        return Cow::Borrowed(folded);
    }
    let bracket = pattern!(
        r"\[\s*((?:\\(?:mathrm|text|ce|rm)(?-u:\b)|[A-Za-z0-9_^{}()\s])+[-+]?[}\s]*)\](?:\s*_\s*(?:\{\s*(?:\\(?:mathrm|text)\s*\{)?([A-Za-z0-9]+)[}\s]*?\}|([A-Za-z0-9])))?"
    );
    let formula = pattern!(r"^(?:\(?[A-Z][a-z]?\)?[0-9]*)+[-+]?$");
    bracket.replace_all(folded, |parts: &Captures<'_>| {
        let fonts = ["\\mathrm", "\\text", "\\ce", "\\rm", "{", "}", "_", "^", " "];
        let name = without(&parts[1], &fonts);
        let start = parts.get(0).map_or(0, |bracket| bracket.start());
        // `E[X]` and `\mathbb{E}[X]` are mean values, `[ABC]` is an area.
        let mean = pattern!(r"(?:[EPVrv]|[EPrv]\})$").is_match(&folded[..start]);
        let points = name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase());
        if mean || !formula.is_match(&name) || points && !parts[1].contains('\\') {
            return parts[0].to_owned();
        }
        let index = parts.get(2).or(parts.get(3)).map_or("", |index| index.as_str());
        match (name.len(), index.trim_start_matches('t')) {
            (1, "") => format!(" {name} "),
            (1, index) => format!(" {name}_{{{index}}} "),
            (_, index) => format!(" c_{{{name}{index}}} "),
        }
    })
}

/// Returns values and vectors of `\lambda = 0: (-2, 1), \lambda = 5: (1, 2)` and `\lambda_1 = 5, v_1 = (1, 2)^T; \ldots`.
pub(super) fn eigenpairs(folded: &str) -> Option<Vec<[&str; 2]>> {
    let pair = pattern!(
        r"(?xs)\\lambda(?:_\{?[0-9]\}?)?\s*=\s*([^,;:=$]+?) (?:[\s$,;:]|\\[,;\x20]|\\q?quad|\\text\s*\{[^{}]*\})*
        (?:(?:\\(?:vec|mathbf|boldsymbol|bm)\s*\{?\s*)?[vuxe]\s*\}?(?:_\{?[0-9]\}?)?\s*=\s*)?
        (\\begin\{[pb]matrix\}.*?\\end\{[pb]matrix\}|(?:\\left)?\([^()=]*,[^()=]*\)) (?:\^\{?(?:\\top|\\mathsf\s*\{?T\}?|T)\}?)?"
    );
    if !folded.contains("\\lambda") {
        return None;
    }
    let rest = pair.replace_all(folded, "");
    let separators =
        pattern!(r"^(?:[\s$,;.]|\\[,;\x20]|\\q?quad|\\text\s*\{\s*,?\s*(?:and)?\s*\})*$");
    let parts = |pair: Captures<'_>| [1, 2].map(|group| pair.get(group).map(|part| part.range()));
    let ranges: Vec<_> = pair.captures_iter(folded).map(parts).collect();
    let pairs = ranges.into_iter().map(|[value, vector]| Some([&folded[value?], &folded[vector?]]));
    let pairs: Vec<[&str; 2]> = pairs.collect::<Option<_>>()?;
    (pairs.len() > 1 && separators.is_match(&rest)).then_some(pairs)
}
