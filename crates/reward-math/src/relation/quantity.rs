//! Names of quantities in labels: extremes, segments, "variance" for `\sigma^2`.

use crate::answer::Node;
use crate::expression::Expression;
use crate::table::{lists, pattern, phrases};
use crate::words;

/// Returns true for `\limsup` and `\limsup a_n`: one label leaves out the argument.
pub(super) fn named_alike(left: &Node, right: &Node) -> bool {
    let operator = |label: &Node| match label {
        Node::Words(words) => {
            let name = pattern!(r"^\\(limsup|liminf|sup|inf)([^a-z].*)?$|^(rank|nullity)\b(.*)$");
            let parts = name.captures(words)?;
            let argument = parts.get(2).or(parts.get(4)).map_or("", |argument| argument.as_str());
            Some((parts.get(1).or(parts.get(3))?.as_str().to_owned(), argument.is_empty()))
        }
        Node::Value { expression: Expression::Function(name, _), .. } if name == "rank" => {
            Some((name.clone(), false))
        }
        _ => None,
    };
    let both = operator(left).zip(operator(right));
    both.is_some_and(|((name, bare), (other, other_bare))| name == other && (bare || other_bare))
}

/// Returns true if two labels, one of them in words, name one quantity: "variance" and `\sigma^2`, "rank" and "rank(A)".
pub(super) fn one_quantity(left: &Node, right: &Node) -> bool {
    let worded = matches!((left, right), (Node::Words(_), Node::Words(_)));
    let name = |label: &Node| match label {
        Node::Words(words) => Some(words.clone()),
        label => label.symbol().map(str::to_owned),
    };
    let (Some(left), Some(right)) = (name(left), name(right)) else { return false };
    let argument = pattern!(r"[(\[][A-Za-z](?:,[A-Za-z])*[)\]]$");
    // "saddle point at (0, 0)" is at the saddle, the maximum at 2 is no 2.
    let thing = |label: &str| match label.strip_prefix("place of ") {
        Some(thing) if thing.contains("maximum") || thing.contains("minimum") => label.to_owned(),
        Some(thing) => thing.to_owned(),
        None => label.to_owned(),
    };
    let (left, right) = (thing(&left), thing(&right));
    let (name, other) = (argument.replace(&left, ""), argument.replace(&right, ""));
    // `f(x) = 1` says nothing of `f(y)`.
    if name.len() < left.len() && other.len() < right.len() {
        return false;
    }
    let usual = |name: &str, symbol: &str| {
        let adjective = phrases("of a solution").iter().find_map(|first| name.strip_prefix(first));
        let name = adjective.unwrap_or(name);
        phrases("symbol of a quantity").chunks_exact(2).any(|pair| *pair == [name, symbol])
    };
    usual(&name, &other)
        || usual(&other, &name)
        || worded && !name.starts_with('\\') && words::same(&name, &other)
}

/// Returns true for `\phi(x, y)` and `f(x, y)`: usual names of a potential, at the same place.
pub(super) fn are_potentials(left: &Node, right: &Node) -> bool {
    let usual = |name: &String| lists("f F \\phi \\varphi \\Phi", name);
    matches!((left.plain(), right.plain()),
        (Some(Expression::Function(a, place)), Some(Expression::Function(b, other)))
            if usual(a) && usual(b) && place.len() > 1 && place == other)
}

/// Returns "max" or "min" for the name of a largest or smallest value: `f_{\max}`, "maximum".
pub(crate) fn extreme(label: &Node) -> Option<String> {
    let name = match label {
        Node::Words(words) => words,
        // `\max f`
        Node::Value { expression: Expression::Function(name, _), .. } => name,
        other => other.symbol()?,
    };
    // `\max A`, without the space
    if pattern!(r"^(?:max|min)[A-Z]").is_match(name) {
        return None;
    }
    let name = name.to_lowercase();
    let named = |extreme: &&str| name.starts_with(extreme) || name.contains(&format!("_{extreme}"));
    ["max", "min"].into_iter().find(named).map(str::to_owned)
}

/// Returns the ends of a segment in `AB`, `|AB|` and `\overline{AB}`.
pub(crate) fn segment(label: &Node) -> Option<String> {
    let inner = match label.plain()? {
        Expression::Function(name, inner) if name == "abs" || name == "overline" => {
            inner.first()?
        }
        other => other,
    };
    let Expression::Product(ends) = inner else { return None };
    let capital = |name: &&str| name.starts_with(char::is_uppercase);
    let end = |end| Expression::as_symbol(end).filter(capital);
    let mut ends: Vec<&str> = ends.iter().map(end).collect::<Option<_>>()?;
    ends.sort_unstable();
    (ends.len() == 2).then(|| ends.concat())
}
