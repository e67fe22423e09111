//! Normal forms as text: the compared values, in a notation that this crate parses again.
//!
//! They are printed only on request ([`crate::Options::normal_forms`], `explain`): deciding needs no text.

mod text;

use dashu::Rational;

use crate::algebra::{Algebra, Fraction};
use crate::answer::{Answer, Combination, Node, Piece, Relation};
use crate::expression::{Expression, binds};
use crate::options::Options;
use crate::relation;
use crate::verdict::ParseError;

/// Longest printed normal form, in bytes; the rest is replaced by an ellipsis.
const MAX_BYTES: usize = 4096;

/// Longest value printed multiplied out, in bytes; a longer one is shown as parsed.
const MAX_VALUE_BYTES: usize = 2048;

/// Returns the normal form of a bare answer, in a notation that parses to an equal answer.
///
/// Expressions are sums of products of prime powers, variables and function values in a fixed order. Sets and bare
/// lists are sorted. An equation is a primitive polynomial that equals 0; an inequality likewise. Fractions of sums are
/// not reduced. A value without a short normal form within the fuel, or a sum over an index, is shown as parsed.
///
/// # Errors
///
/// An error if the text is no readable answer.
pub fn normal_form(answer: &str, options: &Options) -> Result<String, ParseError> {
    let readings = Answer::parse(answer)?.readings?;
    Ok(of(readings.first().ok_or(ParseError::Empty)?, options.fuel))
}

/// Returns the normal form of one reading, at a cost of at most `fuel`.
pub(crate) fn of(reading: &Node, fuel: u64) -> String {
    let mut text = Printer { fuel, as_read: false }.node(reading);
    if text.len() > MAX_BYTES {
        text.truncate(text.floor_char_boundary(MAX_BYTES));
        text.push('…');
    }
    text
}

/// Returns a reading as parsed, with every bracket, in the same notation.
pub(crate) fn as_read(reading: &Node) -> String {
    Printer { fuel: 0, as_read: true }.node(reading)
}

/// Printer with the remaining fuel; without any, values are printed as parsed.
struct Printer {
    fuel: u64,
    /// Keeps members and sides in the order written.
    as_read: bool,
}

impl Printer {
    fn node(&mut self, reading: &Node) -> String {
        match reading {
            Node::Value { expression, unit: Some(unit) } => {
                format!("{} {unit}", self.value(expression))
            }
            Node::Value { expression, unit: None } => self.value(expression),
            Node::Words(words) => format!("\\text{{{words}}}"),
            Node::List { open: ' ', items, .. } => self.members(items, ' ').join(", "),
            Node::List { open: '{', items, .. } => {
                format!("\\{{{}\\}}", self.members(items, '{').join(", "))
            }
            Node::List { open, close, items } => {
                format!("{open}{}{close}", self.members(items, *open).join(", "))
            }
            Node::Joined(combination, parts) => {
                let chains = parts.iter().all(|part| matches!(part, Node::Chain { .. }));
                let (brackets, sign) = match combination {
                    Combination::Union => ('{', " \\cup "),
                    Combination::Intersection if chains => ('{', " and "),
                    Combination::Intersection => ('{', " \\cap "),
                    Combination::Difference => ('(', " \\setminus "),
                };
                self.members(parts, brackets).join(sign)
            }
            Node::Chain { sides, relations } => self.chain(reading, sides, relations),
            Node::Matrix(rows) => {
                let row = |row: &Vec<Expression>| {
                    row.iter().map(|entry| self.value(entry)).collect::<Vec<_>>().join(" & ")
                };
                let printed: Vec<String> = rows.iter().map(row).collect();
                format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", printed.join(" \\\\ "))
            }
            Node::Piecewise(pieces) => {
                let mut rows: Vec<String> = pieces.iter().map(|piece| self.piece(piece)).collect();
                rows.sort_unstable();
                format!("\\begin{{cases}}{}\\end{{cases}}", rows.join(" \\\\ "))
            }
            Node::Ratio(parts) => self.ratio(parts),
            Node::Builder { head, conditions } => {
                let head = self.node(head);
                format!("\\{{{head} \\mid {}\\}}", self.members(conditions, '{').join(", "))
            }
        }
    }

    fn piece(&mut self, piece: &Piece) -> String {
        let value = self.node(&piece.value);
        let condition = match (&piece.region, &piece.condition) {
            (Some(region), _) => self.node(region),
            (None, Some(text)) => format!("\\text{{{text}}}"),
            (None, None) => "\\text{otherwise}".to_owned(),
        };
        format!("{value} & {condition}")
    }

    /// Returns the normal forms of the items: in canonical order without brackets, each once between braces, else as written.
    fn members(&mut self, items: &[Node], open: char) -> Vec<String> {
        let mut texts: Vec<String> = items.iter().map(|item| self.node(item)).collect();
        let written = self.as_read || items.iter().any(|item| item.symbol() == Some("\\ldots"));
        if !written && matches!(open, ' ' | '{') {
            // Numbers by value, then all others by spelling.
            texts.sort_by_cached_key(|text| {
                let number = text.parse::<Rational>().ok();
                (number.is_none(), number, text.clone())
            });
            if open == '{' {
                texts.dedup();
            }
        }
        texts
    }

    /// Returns a value as a fraction of sums in a fixed order, or as parsed if that costs too much.
    fn value(&mut self, expression: &Expression) -> String {
        let normal = if is_opaque(expression) { None } else { self.normalised(&[expression]) };
        let text = normal.and_then(|(algebra, sides)| {
            let printer = text::Printer::new(&algebra);
            let text = text::fraction(&printer, &sides[0]);
            // A product of ten sums multiplied out is unreadable.
            (printer.is_complete() && text.len() <= MAX_VALUE_BYTES).then_some(text)
        });
        text.unwrap_or_else(|| text::expression(expression))
    }

    /// Returns normal forms over common atoms; names are interned in order, so the order of writing has no effect.
    fn normalised(&mut self, sides: &[&Expression]) -> Option<(Algebra, Vec<Fraction>)> {
        let mut algebra = Algebra::new(self.fuel);
        let mut names: Vec<String> = sides.iter().flat_map(|side| side.variables()).collect();
        names.sort_unstable();
        algebra.name_in_order(&names);
        let normal: Result<Vec<Fraction>, ParseError> =
            sides.iter().map(|side| algebra.normalise(side)).collect();
        self.fuel = algebra.fuel;
        normal.ok().map(|normal| (algebra, normal))
    }

    fn chain(&mut self, chain: &Node, sides: &[Node], relations: &[Relation]) -> String {
        if let ([left, right], [relation], false) = (sides, relations, self.as_read) {
            if *relation == Relation::Equal
                && let Some((label, value)) = relation::labelled(chain)
                && defines(label, value)
            {
                return format!("{} = {}", self.node(label), self.node(value));
            }
            if let Some(text) = self.comparison(left, *relation, right) {
                return text;
            }
        }
        let downwards = !self.as_read
            && relations
                .iter()
                .all(|relation| matches!(relation, Relation::Greater | Relation::GreaterEqual));
        let mut printed: Vec<String> = sides.iter().map(|side| self.node(side)).collect();
        for (side, relation) in printed[1..].iter_mut().zip(relations) {
            let sign = if downwards { relation.flipped() } else { *relation }.sign();
            *side = if downwards { format!("{side} {sign}") } else { format!("{sign} {side}") };
        }
        if downwards {
            printed.reverse();
        }
        printed.join(" ")
    }

    /// Returns an equation or inequality as `p = 0` with coprime integer coefficients, the first of them positive.
    fn comparison(&mut self, left: &Node, relation: Relation, right: &Node) -> Option<String> {
        let (a, b) = (left.plain()?, right.plain()?);
        if matches!(relation, Relation::In | Relation::Approximately)
            || is_opaque(a)
            || is_opaque(b)
        {
            return None;
        }
        let (mut algebra, sides) = self.normalised(&[a, b])?;
        let difference = algebra.subtract(&sides[0], &sides[1]).ok()?;
        let equation = matches!(relation, Relation::Equal | Relation::NotEqual);
        // A denominator of unknown sign may only be multiplied away in an equation.
        if !equation && difference.as_polynomial().is_none() {
            return None;
        }
        let primitive = if equation {
            let cleared = relation::cleared(&mut algebra, &difference.numerator).ok()?;
            // `2x - 10 = 0` as `x = 5`
            if let Some((name, [c, b, a])) = algebra.quadratic(&Fraction::from(cleared.clone()))
                && a.is_zero()
                && !b.is_zero()
            {
                return Some(format!("{} {} {}", text::symbol(&name), relation.sign(), -c / b));
            }
            cleared
        } else {
            difference.numerator
        };
        let printer = text::Printer::new(&algebra);
        let (text, turned) = text::primitive(&printer, &primitive)?;
        if !printer.is_complete() || text.len() > MAX_VALUE_BYTES {
            return None;
        }
        let relation = if turned { relation.flipped() } else { relation };
        Some(format!("{text} {} 0", relation.sign()))
    }

    /// Returns the parts of a ratio divided by the first, if that is a number.
    fn ratio(&mut self, parts: &[Expression]) -> String {
        let sides: Vec<&Expression> = parts.iter().collect();
        let Some((algebra, normal)) = self.normalised(&sides) else {
            let parts: Vec<String> = parts.iter().map(text::expression).collect();
            return parts.join(" : ");
        };
        text::ratio(&text::Printer::new(&algebra), &normal)
    }
}

/// Returns true if an expression has no normal form: a sum over an index, an integral, infinity, an ellipsis.
fn is_opaque(expression: &Expression) -> bool {
    expression.any(&|node| match node {
        Expression::Function(name, _) => binds(name),
        node => node.is_symbol("\\infty") || node.is_symbol("\\ldots"),
    })
}

/// Returns true if the label names the value: `x = 2`, `f(x) = x + 1`; `y = 2x` is an ordinary equation.
fn defines(label: &Node, value: &Node) -> bool {
    let constant = || matches!(value, Node::Value { expression, .. } if !expression.has_variable());
    match label {
        Node::Value { expression: Expression::Function(..), .. } => true,
        Node::Value { expression: Expression::Symbol(_), .. } => {
            constant() || !matches!(value, Node::Value { .. })
        }
        Node::Value { .. } => false,
        _ => true,
    }
}
