//! Notations with a value of their own: continued fractions, spans, decisions of a test.

use std::borrow::Cow;

use dashu::{Integer, Rational};
use regex::Captures;

use super::Node;
use crate::expression::Expression;
use crate::table::{pattern, without};

/// Most partial quotients of a continued fraction, rows and columns of a span.
const MOST: usize = 16;

/// Returns the value of `[1; 2, 3]`, `[1; \overline{2, 3}]` and `[1; 2, 2, 2, \ldots]`.
pub(super) fn continued_fraction(folded: &str) -> Option<Expression> {
    let notation = pattern!(
        r"^\[\s*(-?[0-9]{1,9})\s*;\s*((?:[0-9]{1,9}\s*,\s*)*)(?:\\overline\s*\{([0-9,\s]{1,64})\}|([0-9]{1,9})|(\\[lc]?dots))\s*\]$"
    );
    if !folded.contains('[') || !folded.contains(';') {
        return None;
    }
    let plain = pattern!(r"\\(?:left|right|[,;!\x20])").replace_all(folded, "");
    let parts = notation.captures(plain.trim())?;
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
    let before = convergents(&first);
    let number = |value: Integer| Expression::Number(Rational::from(value));
    if period.is_empty() {
        let [top, _, bottom, _] = before;
        return Some(Expression::Number(Rational::from_parts_signed(top, bottom)));
    }
    // `t = (a t + b) / (c t + d)`
    let [a, b, c, d] = convergents(&period);
    let spread = d - a;
    let root = Expression::root(number(&spread * &spread + Integer::from(4) * &c * b), 2);
    let rest = (number(-spread) + root) / number(Integer::from(2) * c);
    let line = |slope, start| number(slope) * rest.clone() + number(start);
    let [top, top_start, bottom, bottom_start] = before;
    Some(line(top, top_start) / line(bottom, bottom_start))
}

/// Returns the reduced basis of `\operatorname{span}\{(1, -2)\}` in words, from the vectors behind its name.
pub(super) fn span(vectors: &Node) -> Option<String> {
    let vectors = match vectors {
        Node::List { open: '{', items, .. } => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    // Small ones: elimination multiplies their lengths.
    let number = |entry: &Expression| {
        let small = |value: &Rational| {
            i32::try_from(value.numerator()).is_ok()
                && i32::try_from(value.denominator().clone()).is_ok()
        };
        entry.literal().filter(small)
    };
    let vector = |vector: &Node| -> Option<Vec<Rational>> {
        match vector {
            Node::List { open: '(' | '[', items, .. } => {
                items.iter().map(|item| number(item.plain()?)).collect()
            }
            Node::Matrix(rows) => rows.iter().flatten().map(number).collect(),
            _ => None,
        }
    };
    let mut rows: Vec<Vec<Rational>> = vectors.iter().map(vector).collect::<Option<_>>()?;
    let width = rows.first()?.len();
    if rows.len() > MOST || width > MOST || rows.iter().any(|row| row.len() != width) {
        return None;
    }
    let mut rank = 0;
    for column in 0..width {
        let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column] != Rational::ZERO)
        else {
            continue;
        };
        rows.swap(rank, pivot);
        let leading = rows[rank][column].clone();
        let reduced: Vec<Rational> = rows[rank].iter().map(|entry| entry / &leading).collect();
        for (place, row) in rows.iter_mut().enumerate() {
            let factor = row[column].clone();
            if place == rank {
                row.clone_from(&reduced);
            } else {
                row.iter_mut().zip(&reduced).for_each(|(entry, part)| *entry -= &factor * part);
            }
        }
        rank += 1;
    }
    rows.truncate(rank);
    let row =
        |row: &Vec<Rational>| row.iter().map(Rational::to_string).collect::<Vec<_>>().join(" ");
    Some(format!("span {}", rows.iter().map(row).collect::<Vec<_>>().join(", ")))
}

/// Returns the vector of `\{t(1, 2) : t \in \mathbb{R}\}`, which is the span of that vector.
pub(super) fn line(folded: &str) -> Option<&str> {
    let multiples = pattern!(concat!(
        r"^(?:\\left)?\\\{(?:\s|\\[,;])*([a-z])(?:\s|\\,|\\cdot\b)*",
        r"((?:\\left)?\([^()a-z]*(?:\\right)?\)|\\begin\{[pb]matrix\}[^a-z]*\\end\{[pb]matrix\})",
        r"(?:\s|\\[,;])*(?::|\\mid\b|\||\\middle\|)(?:\s|\\[,;])*([a-z])\s*\\in\s*\\math(?:bb|bf)\s*\{?\s*R\s*\}?(?:\s|\\[,;])*(?:\\right)?\\\}$",
    ));
    let parts = multiples.captures(folded).filter(|parts| parts[1] == parts[3])?;
    Some(parts.get(2)?.as_str())
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
