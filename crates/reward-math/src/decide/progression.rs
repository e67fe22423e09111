//! Numbers from a first one on without an end: `2k + 1, k \ge 0`, "all odd positive integers", `\{1, 3, 5, \ldots\}`.

use super::difference::{Difference, chain};
use super::{Comparison, Result};
use crate::answer::{Answer, Node, Relation};
use crate::expression::Expression;
use crate::relation;
use crate::table::{lists, pattern};

/// Largest first number that is followed.
const LARGEST: i64 = 1_000_000_000;

/// The name of the place of a number: 0, 1, 2, …
const PLACE: &str = "place";

/// Numbers one after the other.
enum Progression {
    /// The number at each place, under its label.
    Formula { label: Option<Node>, number: Expression },
    /// `n \ge 2`, which may be of integers.
    Bound(Expression),
    /// The numbers before the dots.
    Listed(Vec<Expression>),
}

impl Comparison {
    /// Returns true if both answers hold the same numbers in the same order, without an end.
    pub(super) fn same_progression(&mut self, response: &Answer, gold: &Answer) -> Result<bool> {
        // Which of two answers begins with 0 is not said.
        let natural =
            |answer: &Answer| answer.parameter.as_ref().is_some_and(|(_, set)| set == "N");
        if natural(response) && natural(gold) {
            return Ok(false);
        }
        // `n = 4k \text{ or } n = 4k + 1`
        if let (Some(parts), Some(others)) = (parts(response), parts(gold)) {
            let lone = |_: &Answer, _: Vec<&Answer>| {
                Difference::Shapes("a progression".to_owned(), "no such progression".to_owned())
            };
            return Ok(self.one_to_one(&parts, &others, Self::same_progression, lone)?.0);
        }
        let others = progressions(gold);
        for a in progressions(response) {
            for b in &others {
                if self.alike(&a, b)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn alike(&mut self, a: &Progression, b: &Progression) -> Result<bool> {
        use Progression::{Bound, Formula, Listed};
        match (a, b) {
            (Formula { label: Some(a), .. }, Formula { label: Some(b), .. }) if a != b => Ok(false),
            (Formula { number: a, .. }, Formula { number: b, .. } | Bound(b))
            | (Bound(a), Formula { number: b, .. }) => Ok(self.expressions(a, b)?.0),
            (Formula { number, .. }, Listed(items)) | (Listed(items), Formula { number, .. }) => {
                let first: Vec<_> = (0..).zip(items).map(|(place, _)| at(number, place)).collect();
                self.all_equal(&first, items)
            }
            (Bound(_) | Listed(_), Bound(_) | Listed(_)) => Ok(false),
        }
    }
}

/// Returns the items of a short list of formulas or residues, each as an answer.
fn parts(answer: &Answer) -> Option<Vec<Answer>> {
    const MOST: usize = 8;
    let Node::List { open: ' ', items, .. } = answer.readings.as_ref().ok()?.first()? else {
        return None;
    };
    let numbered =
        answer.parameter.is_some() || items.iter().all(|item| congruence(item).is_some());
    let part = |item: &Node| Answer { readings: Ok(vec![item.clone()]), ..answer.clone() };
    let fits = (2..=MOST).contains(&items.len()) && numbered;
    fits.then(|| items.iter().map(part).collect())
}

/// Returns the residue and the modulus, behind a label or without.
fn congruence(node: &Node) -> Option<&[Expression]> {
    relation::labelled(node).map_or(node, |(_, value)| value).plain()?.arguments_of("pmod")
}

fn at(number: &Expression, place: i64) -> Expression {
    number.with(PLACE, &Expression::integer(place))
}

/// Returns the progressions that an answer may be: `\mathbb{N}` begins with 0 or with 1, and so may powers of 2.
fn progressions(answer: &Answer) -> Vec<Progression> {
    let Some(reading) = answer.readings.as_ref().ok().and_then(|readings| readings.first()) else {
        return Vec::new();
    };
    let of_place = |value: &Expression, name: &str, start: i64| {
        value.with(name, &(Expression::symbol(PLACE) + Expression::integer(start)))
    };
    let unlabelled = |number| Progression::Formula { label: None, number };
    let all = |numbers: Vec<Expression>| numbers.into_iter().map(unlabelled).collect();
    if let Some(residues) = residues(reading) {
        return all(residues);
    }
    let described = |words: &str, low| all(described(words, low));
    let (label, value, bounds) = match reading {
        Node::Words(words) => return described(words, None),
        // "all integers n ≥ 2"
        Node::Chain { sides, .. } if let [Node::Words(words), _] = sides.as_slice() => {
            return described(words, bounded(reading).map(|(_, low)| low));
        }
        // `n \ge 2, n \in \mathbb{Z}`
        Node::Chain { .. } if let Some((Some(name), low)) = bounded(reading) => {
            let number = of_place(&Expression::symbol(name), name, low);
            let declared = answer.parameter.as_ref().is_some_and(|(declared, _)| declared == name);
            return match declared {
                true => vec![unlabelled(number)],
                false if lists("k m n N", name) => vec![Progression::Bound(number)],
                false => Vec::new(),
            };
        }
        // `\{1, 3, 5, \ldots\}`
        Node::List { open: '{' | ' ', items, .. }
            if let [before @ .., last] = items.as_slice()
                && before.len() > 2
                && last.symbol() == Some("\\ldots") =>
        {
            let items: Option<Vec<_>> = before.iter().map(|item| item.plain().cloned()).collect();
            return items.map(Progression::Listed).into_iter().collect();
        }
        // `\{n \in \mathbb{Z} : n \ge 1\}`
        Node::Builder { head, conditions } => {
            let value = head.membership().map_or(&**head, |(member, _)| member);
            let stated = conditions.iter().filter(|stated| stated.membership().is_none());
            let Some(bounds) = stated.map(bounded).collect() else { return Vec::new() };
            (None, value, bounds)
        }
        _ => match relation::labelled(reading) {
            Some((label, value)) => (Some(label.clone()), value, Vec::new()),
            None => (None, reading, Vec::new()),
        },
    };
    let Some((name, set)) = &answer.parameter else { return Vec::new() };
    let starts = match (set.as_str(), bounds.as_slice()) {
        ("Z" | "N", [(Some(bounded), low)]) if bounded == name => vec![*low],
        ("positive", []) => vec![1],
        ("from 0", []) => vec![0],
        ("N", []) => vec![0, 1],
        (bound, []) => least(bound).into_iter().collect(),
        _ => Vec::new(),
    };
    let Some(value) = value.plain().filter(|value| value.holds(name)) else { return Vec::new() };
    let formula = |start: i64| Progression::Formula {
        label: label.clone(),
        number: of_place(value, name, start),
    };
    starts.into_iter().map(formula).collect()
}

/// Returns the least integer of the bound `_\ge 2`.
fn least(bound: &str) -> Option<i64> {
    let low = pattern!(r"^_(?:(\\ge|>=)|>) ?([0-9]{1,6})$").captures(bound)?;
    Some(low[2].parse::<i64>().ok()? + i64::from(low.get(1).is_none()))
}

/// Returns the number at each place of `n \equiv 3 \pmod 4`, of integers that a problem may call positive: from the residue on.
fn residues(reading: &Node) -> Option<Vec<Expression>> {
    let [residue, modulus] = congruence(reading)? else { return None };
    let modulus = modulus.as_integer().filter(|modulus| (2..=LARGEST).contains(modulus))?;
    let residue = residue.as_integer()?.rem_euclid(modulus);
    // The first multiple is 0 or, if it must be positive, the modulus.
    let starts = if residue == 0 { vec![0, modulus] } else { vec![residue] };
    let from = |start| {
        Expression::integer(start) + Expression::integer(modulus) * Expression::symbol(PLACE)
    };
    Some(starts.into_iter().map(from).collect())
}

/// Returns the name and the least integer of `n \ge 2`, `n > 1` and `1 < n`.
fn bounded(node: &Node) -> Option<(Option<&str>, i64)> {
    let ([left, right], [relation]) = chain(node)? else { return None };
    let (name, bound, relation) = match right.symbol() {
        Some(_) => (right, left, relation.flipped()),
        None => (left, right, *relation),
    };
    let bound = bound.plain()?.as_integer().filter(|low| (-LARGEST..=LARGEST).contains(low))?;
    match relation {
        Relation::GreaterEqual => Some((name.symbol(), bound)),
        Relation::Greater => Some((name.symbol(), bound + 1)),
        _ => None,
    }
}

/// Returns the number at each place of "odd integers above 1", "positive multiples of 6", "powers of 2", from `low` on.
fn described(words: &str, low: Option<i64>) -> Vec<Expression> {
    let kind = pattern!(
        r"(?x)^(?:[a-z]\x20|value\x20|is\x20|any\x20|all\x20|every\x20|the\x20|set\x20|of\x20)*
        (?P<kind>(?:(?:positive|non[-\x20]?negative|odd|even|natural)\x20)*)
        (?P<noun>(?:integer|number|multiple\x20of\x20(?P<step>[0-9]{1,6})|power\x20of\x20(?P<base>[23]|two|three))s?)?
        (?:\x20[a-z])?
        (?:\x20(?:(?:that\x20(?:is|are)\x20)?(?:(?:greater|larger|more|bigger)\x20than\x20(?P<equal>or\x20equal\x20to\x20)?|>)
        |(?P<least>at\x20least|from|\\geq?|>=)\x20)\x20?(?P<low>[0-9]{1,6})(?:\x20on)?)? (?:\x20[a-z])?$"
    );
    let Some(parts) = kind.captures(words) else { return Vec::new() };
    let is = |word: &str| parts["kind"].contains(word);
    // "all numbers greater than 2" need not be integers.
    let noun = parts.name("noun").map_or("", |noun| noun.as_str());
    if (noun.is_empty() || noun.starts_with("number"))
        && !["odd", "even", "natural"].into_iter().any(is)
    {
        return Vec::new();
    }
    let number = |name| parts.name(name).and_then(|text| text.as_str().parse::<i64>().ok());
    let above = parts.name("equal").or(parts.name("least")).is_none();
    let low = low.or_else(|| Some(number("low")? + i64::from(above)));
    let least = if is("positive") { Some(1) } else { is("negative").then_some(0) };
    let low = low.max(least);
    let place = Expression::symbol(PLACE);
    if let Some(base) = parts.name("base") {
        let base: i64 = if lists("2 two", base.as_str()) { 2 } else { 3 };
        let first = |low: i64| (0..32).find(|power| base.pow(*power) >= low);
        let starts = low.map_or_else(|| vec![0, 1], |low| first(low).into_iter().collect());
        let power = |start: u32| {
            Expression::power(
                Expression::integer(base),
                place.clone() + Expression::integer(start.into()),
            )
        };
        return starts.into_iter().map(power).collect();
    }
    let step = number("step").unwrap_or(if is("odd") || is("even") { 2 } else { 1 }).max(1);
    let starts = match low {
        Some(low) => vec![low],
        None if is("natural") => vec![0, 1],
        None => Vec::new(),
    };
    let from = |low: i64| {
        let first = low + (i64::from(is("odd")) - low).rem_euclid(step);
        Expression::integer(first) + Expression::integer(step) * place.clone()
    };
    starts.into_iter().map(from).collect()
}
