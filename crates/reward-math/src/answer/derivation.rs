//! Derivations: the last step is the answer, unless the steps before it are parts of one.

mod rows;
mod tail;

use std::collections::BTreeSet;

use dashu::Rational;

use super::{Node, Relation};
use crate::expression::Expression;
use crate::parser::Parser;
use crate::relation;
use crate::table::{lists, pattern};
use crate::token::tokenize;
use crate::words;
pub(super) use rows::without_words_in_brackets;
use rows::{bound, concluding, equations, rows, without_check, without_equality};
pub(super) use tail::{last_calculation, last_side, tail};

/// Most rows of a derivation that is read.
const MOST_ROWS: usize = 32;

/// Texts of the steps of a derivation that count.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    /// The last step, which is the answer.
    pub(super) last: String,
    /// The end of the last step, if it calculates with all that stands before it there.
    pub(super) calculated: Option<String>,
    /// True if the steps stand in rows or behind signs of conclusion, false for a list of equations.
    pub(super) in_rows: bool,
    /// Steps that are statements of the kind of the last one, which must be right too.
    pub(super) alike: Vec<String>,
}

/// A row, and the statements in it; none if it is not read.
struct Row {
    text: String,
    items: Vec<Node>,
}

impl Row {
    fn read(text: String) -> Self {
        let node = tokenize(&text, true).and_then(|tokens| Parser::new(tokens).answer());
        let items = node.map_or(Vec::new(), |node| node.items().to_vec());
        Self { text, items }
    }
}

/// Reads a text in rows; `None` if it is not in rows, or sets a condition.
pub(super) fn steps(folded: &str) -> Option<Steps> {
    // The value of an inequality that holds with equality is its bound.
    let extremum = without_equality(folded);
    let folded = extremum.as_deref().unwrap_or(folded);
    let unchecked = without_check(folded);
    let folded = unchecked.unwrap_or(folded);
    let is_row = unchecked.is_some() || extremum.is_some();
    let mut in_rows = rows(folded).or_else(|| is_row.then(|| vec![folded.to_owned()]));
    if extremum.is_some()
        && let Some(last) = in_rows.as_deref_mut().and_then(<[_]>::last_mut)
    {
        *last = bound(last).to_owned();
    }
    let in_line = in_rows.is_none();
    let texts = in_rows.or_else(|| equations(folded))?;
    // "attained when x = 1" sets no condition.
    let place = pattern!(r"(?:attained|achieved|reached|occurs?) (?:when|if)|(?:is|are) given")
        .replace_all(folded, "");
    if texts.len() > MOST_ROWS || words::is_conditional(&place.to_lowercase()) {
        return None;
    }
    let mut rows: Vec<Row> = texts.into_iter().map(Row::read).collect();
    // `\Rightarrow p_2 = \frac12;\quad p_3 = \frac34;\quad p_4 = \frac58`: steps in one row.
    let holds_terms = |row: &Row| are_terms(&row.items.iter().collect::<Vec<_>>());
    if let Some(list) = rows.pop_if(|row| !in_line && holds_terms(row)) {
        let terms = equations(&list.text).unwrap_or_else(|| vec![list.text]);
        rows.extend(terms.into_iter().map(Row::read));
    }
    let asked = last_of_all(&rows);
    let is_asked = asked.is_some();
    let concluded = concluded(folded, &rows).or(asked);
    // `x = 1`, before `y = 2`: parts of one answer.
    let mut last = vec![rows.pop()?];
    while rows.last().is_some_and(|row| is_part(row, &last, in_line)) {
        last.extend(rows.pop());
    }
    last.reverse();
    let calculated = last.split_last().filter(|(row, parts)| {
        let mut values = parts.iter().flat_map(|part| &part.items).filter_map(named);
        let uses = |value| {
            row.items.iter().any(|item| calculates(item, value) || consists_partly_of(item, value))
        };
        !parts.is_empty() && values.all(|(_, value)| value.expression().is_some_and(uses))
    });
    let is_sum = concluded.is_some();
    let calculated = calculated.map(|(row, _)| row.text.clone()).or(concluded);
    let answer = last.iter().map(|row| row.text.as_str()).collect::<Vec<_>>().join(", ");
    let last: Vec<Node> = last.into_iter().flat_map(|row| row.items).collect();
    // `\sqrt x = 3 \text{ is solved by } x = 0`, before `x = 9`
    let unread = |row: &Row| {
        let plain = row.text.replace(' ', "");
        let names = last.iter().filter_map(named).filter_map(|(label, _)| label.symbol());
        row.items.is_empty() && names.into_iter().any(|name| plain.contains(&format!("}}{name}=")))
    };
    let leaves_open = |row: &Row| unread(row) || !is_asked && is_open(row, &rows, &last);
    if in_line && rows.iter().any(leaves_open) {
        return None;
    }
    // `x = -1` or `x = 4`, before `x = 4`, is a step.
    let curves = in_line && ends_in_curve(&rows, &last);
    let same = |step: &Node| says_the_same(step, &last) || curves && is_curve(step);
    let is_alike = |row: &&Row| !is_sum && row.items.len() == 1 && same(&row.items[0]);
    let alike = rows.iter().filter(is_alike).map(|row| row.text.clone()).collect();
    Some(Steps { last: answer, calculated, alike, in_rows: !in_line })
}

/// Returns the value of `x + 4 = 132` behind `x = 128`, and that of `\frac{CD}{BD} = \frac{5}{9}` behind `BD = 9`.
fn concluded(folded: &str, rows: &[Row]) -> Option<String> {
    let items: Vec<&Node> = rows.iter().flat_map(|row| &row.items).collect();
    let (Node::Chain { sides, relations }, before) = items.split_last()? else { return None };
    let [quantity, .., value] = sides.as_slice() else { return None };
    let sum = quantity.plain()?;
    let compound = match sum {
        Expression::Sum(_) => true,
        Expression::Quotient(..) => relation::is_label(quantity),
        // `2c = 8\sqrt{55}` behind `c = 4\sqrt{55}`
        Expression::Product(_) => value.expression().is_some_and(|value| value.literal().is_none()),
        _ => false,
    };
    let equations = relations.iter().all(|relation| *relation == Relation::Equal);
    if !compound || !equations || value.has_variable() {
        return None;
    }
    // A row holds what stands behind its last sign of conclusion.
    let earlier = concluding(folded).take(MOST_ROWS).map(|step| Row::read(step.to_owned()));
    let earlier: Vec<Node> = earlier.flat_map(|row| row.items).collect();
    let before = before.iter().copied().chain(&earlier);
    let known = before.filter_map(named).filter(|(_, value)| !value.has_variable());
    let known: Vec<&Expression> = known.filter_map(|(label, _)| label.plain()).collect();
    // `\frac{2x}{5} = 30` is an equation.
    let asks = matches!(sum, Expression::Quotient(..)) || consists_of(sum, &known);
    let text = &rows.last()?.text;
    let place = text.rfind('=').filter(|_| asks && sum.any(&|part| known.contains(&part)))?;
    Some(text[place + 1..].to_owned())
}

/// Returns true for a sum or product of known parts and numbers.
fn consists_of(quantity: &Expression, known: &[&Expression]) -> bool {
    known.contains(&quantity)
        || match quantity {
            Expression::Number(_) => true,
            Expression::Sum(parts) | Expression::Product(parts) => {
                parts.iter().all(|part| consists_of(part, known))
            }
            _ => false,
        }
}

/// Returns the last row where it calculates, is what was asked for, or the last of three terms `p_2 = \frac12, p_3 = 4, p_4 = 5`.
fn last_of_all(rows: &[Row]) -> Option<String> {
    let (last, before) = rows.split_last()?;
    let [end] = last.items.as_slice() else { return None };
    let values = before.iter().flat_map(|row| &row.items).filter_map(named);
    let mut known = values.filter_map(|(_, value)| value.expression());
    // A digit may stand between the sides of `t = \frac{400}{20} = 20` by chance.
    let small = |value: Rational| value.is_int() && value <= Rational::from(9);
    let uses = known.any(|value| !value.literal().is_some_and(small) && calculates(end, value));
    let items: Vec<&Node> = rows.iter().flat_map(|row| &row.items).collect();
    // `a - b = 3c, \max = 12`, `c = ta + ub, (t, u) = (4, -1)`: what was asked for.
    let of_kind =
        |is: fn(&Node) -> bool| is(end) && items.iter().filter(|item| is(item)).count() == 1;
    let is_extreme =
        |node: &Node| named(node).is_some_and(|(label, _)| relation::extreme(label).is_some());
    let is_point = |node: &Node| {
        named(node).is_some_and(|(label, _)| matches!(label, Node::List { open: '(', .. }))
    };
    // `\vec T = a\vec D + b\vec E, \frac{AF}{AT} = \frac15`: the only value.
    let is_value = |node: &Node| named(node).is_some_and(|(_, value)| !value.has_variable());
    // `d = \frac32, |AB| = 2\sqrt{4 - \frac94} = \sqrt7`: calculated last.
    let calculated = |node: &Node| {
        let in_steps = matches!(node, Node::Chain { sides, .. } if sides.len() > 2);
        in_steps && is_value(node) && !relation::holds_unknown(node)
    };
    (uses
        || calculated(end)
        || are_terms(&items)
        || [is_extreme, is_point, is_value].into_iter().any(of_kind))
    .then(|| last.text.clone())
}

/// Returns true for three terms or more one after the other, and for some before one that is far away, as `a_{2017}` is.
fn are_terms(items: &[&Node]) -> bool {
    let place = |item: &&Node| -> Option<(String, Option<i64>)> {
        let (label, _) = named(item)?;
        let (name, place) = label.symbol()?.split_once('_')?;
        Some((name.to_owned(), place.trim_matches(['{', '}']).parse().ok()))
    };
    let places: Option<Vec<_>> = items.iter().map(place).collect();
    let Some(places) = places.filter(|places| places.len() > 2) else { return false };
    let in_turn = places.windows(2).all(|pair| {
        pair[0].0 == pair[1].0 && pair[0].1.zip(pair[1].1).is_some_and(|(a, b)| a + 1 == b)
    });
    let one_name = places.iter().all(|(name, _)| *name == places[0].0);
    let far = places.last().and_then(|(_, place)| *place).is_some_and(|place| place > 9);
    in_turn || one_name && far
}

/// Returns the names in the labels of a row whose statements all give a value; `x_{1,2}` if nothing below names `x_1`.
fn assigned(row: &Row, in_line: bool, below: &[Row]) -> Option<BTreeSet<String>> {
    let plain = |name: &str| name.replace(['{', '}'], "");
    let covered = |name: &str| {
        let first = name.split_once(',').map(|(first, _)| plain(first));
        let mut labels = below.iter().flat_map(|row| &row.items).filter_map(named);
        first.is_some() && labels.any(|(label, _)| label.symbol().map(plain) == first)
    };
    let mut names = BTreeSet::new();
    for item in &row.items {
        let (label, value) = named(item)?;
        // A discriminant or derivative is no part of an answer.
        let part = |name: &str| name != "\\Delta" && !name.ends_with('\'') && !covered(name);
        let letter = relation::symbol(label).is_some_and(part);
        if value.has_variable() || !in_line && !letter {
            return None;
        }
        let segment = relation::segment(label).map(|name| BTreeSet::from([name]));
        names.extend(segment.unwrap_or_else(|| label.names()));
    }
    (!row.items.is_empty()).then_some(names)
}

/// Returns true if a row and those below give labels their values, and those below do not use the names of the row.
fn is_part(row: &Row, below: &[Row], in_line: bool) -> bool {
    let Some(names) = assigned(row, in_line, below) else { return false };
    // `\bar z` is a name that uses `z`.
    let uses = |used: String| {
        let last = used.split(' ').next_back();
        names.iter().any(|name| used == *name || last == Some(name.as_str()))
    };
    // `(a, b) = (3, 4), \text{ area} = 12`: the quantity that was asked for has its name.
    let in_words = |row: &Row| {
        let mut labels = row.items.iter().filter_map(named);
        labels.any(|(label, _)| matches!(label, Node::Words(_)))
    };
    if explains(row, below) || !in_words(row) && below.iter().any(in_words) {
        return false;
    }
    below.iter().all(|other| {
        assigned(other, in_line, &[]).is_some()
            && !other.items.iter().flat_map(Node::names).any(uses)
    })
}

/// Returns true if a row says what a sum below consists of: `P = \frac mn = \frac37`, before `m + n = 10`.
fn explains(row: &Row, below: &[Row]) -> bool {
    let mut labels = below.iter().flat_map(|other| &other.items).filter_map(named);
    labels.any(|(label, _)| {
        let names = label.names();
        let holds = |side: &Node| !side.names().is_disjoint(&names);
        let chain =
            |item: &Node| matches!(item, Node::Chain { sides, .. } if sides[1..].iter().any(holds));
        names.len() > 1 && row.items.iter().any(chain)
    })
}

/// Returns true if a value stands between the sides.
fn calculates(item: &Node, value: &Expression) -> bool {
    let Node::Chain { sides, .. } = item else { return false };
    let holds = |side: &Node| side.expression().is_some_and(|side| side.any(&|part| part == value));
    sides.len() > 2 && sides[1..sides.len() - 1].iter().any(holds)
}

/// Returns true if a value is a part of what is named: -15 of `z = -15 + 8i`, 6 of `(b, c) = (6, 5)`.
fn consists_partly_of(item: &Node, value: &Expression) -> bool {
    let total = named(item).and_then(|(_, total)| total.expression());
    let holds = |part: &Expression| part.any(&|part| part == value);
    matches!(total, Some(Expression::Sum(parts)) if parts.iter().any(holds))
}

/// Returns true if a row holds a name whose value stays open: `x + y = 15`, before `x = 7`.
fn is_open(row: &Row, rows: &[Row], last: &[Node]) -> bool {
    // `a_5 = a_1 + 4d = 2 + 4 \cdot 3 = 14`, `PM = 16`, `(a, b) = (3, 4)`
    let closed = |item: &Node| {
        named(item).is_some_and(|(label, value)| {
            let names_values =
                relation::segment(label).is_some() || matches!(label, Node::List { .. });
            names_values && !value.has_variable()
        })
    };
    let closed = !row.items.is_empty() && row.items.iter().all(closed);
    if closed || assigned(row, false, &[]).is_some() {
        return false;
    }
    let known: BTreeSet<String> =
        rows.iter().filter_map(|row| assigned(row, false, &[])).flatten().collect();
    let of_last = |name: &String| last.iter().any(|node| node.names().contains(name));
    // A label is defined, and so is its argument: `f(x) = 3x + 1`.
    let undefined = |item: &Node| match named(item) {
        Some((label, value)) if relation::is_definable(label) => &value.names() - &label.names(),
        _ => item.names(),
    };
    let mut names = row.items.iter().flat_map(undefined);
    last.iter().all(|node| named(node).is_some_and(|(_, value)| !value.has_variable()))
        && names.any(|name| !known.contains(&name) && !of_last(&name))
}

/// Returns true if a list of equations ends in a curve of which it does not name the coordinates: `x = 1, y = x + 3`.
fn ends_in_curve(rows: &[Row], last: &[Node]) -> bool {
    let [end] = last else { return false };
    let values = rows.iter().flat_map(|row| &row.items).filter_map(named);
    let known = values.filter(|(_, value)| !value.has_variable());
    let known = known.filter_map(|(label, _)| label.symbol().map(str::to_owned));
    let known: BTreeSet<String> = known.collect();
    is_curve(end) && end.names().len() > 1 && !end.names().is_subset(&known)
}

fn is_curve(node: &Node) -> bool {
    let names = node.names();
    let open = !names.is_empty() && names.iter().all(|name| lists("x y z", name));
    open && matches!(node, Node::Chain { relations, .. } if *relations == [Relation::Equal])
}

/// Returns true if a step gives a name a value that the last one gives a value, too.
fn says_the_same(step: &Node, last: &[Node]) -> bool {
    named(step).is_some_and(|(label, value)| {
        let below = last.iter().filter_map(named).find(|(other, _)| *other == label);
        // Residues of several moduli lead to one, a general solution to one of known constants.
        !value.is_residue()
            && below.is_some_and(|(_, other)| {
                // `f(x) = x` and `f(x) = 0`: the argument is known.
                value.names().is_subset(&(&other.names() | &label.names()))
            })
    })
}

/// Returns label and value of a chain that gives one its value.
fn named(chain: &Node) -> Option<(&Node, &Node)> {
    let assertion = relation::asserted(chain)?;
    // `s^2 = 2`, behind `\bar x = 3`, is a step.
    let label = assertion.label.filter(|label| !relation::is_power(label))?;
    Some((label, assertion.value))
}
