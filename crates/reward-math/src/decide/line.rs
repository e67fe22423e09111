//! Lines: `\frac{x-1}{2} = y + 3 = z`, `(1, -3, 0) + t(2, 1, 1)` and `x = 1 + 2t, y = -3 + t, z = t`.

use dashu::Rational;

use super::Comparison;
use crate::answer::{Answer, Node, Relation};
use crate::expression::Expression;
use crate::relation;
use crate::table::lists;

const COORDINATES: [&str; 3] = ["x", "y", "z"];

/// Names of the number that runs along a line.
const PARAMETERS: &str = "t s r u \\lambda \\mu";

/// Two points of a line; or the point whose coordinate is 0 where the direction's is 1 first, and that direction.
type Points = (Vec<Rational>, Vec<Rational>);

impl Comparison {
    pub(super) fn same_line(&mut self, response: &Answer, gold: &Answer) -> bool {
        let mut line = |answer: &Answer| match (answer.readings.as_deref(), &answer.parameter) {
            (Ok([reading, ..]), None) => self.line(reading, false),
            (Ok([reading, ..]), Some((_, set))) if set == "R" => self.line(reading, true),
            _ => None,
        };
        let (response, gold) = (line(response), line(gold));
        response.is_some() && response == gold
    }

    /// Returns the line of a reading; a point without a name only if it is `declared` to run.
    fn line(&mut self, reading: &Node, declared: bool) -> Option<Points> {
        let (from, to) = match reading {
            Node::Chain { sides, relations }
                if sides.len() == 3 && relations.iter().all(|sign| *sign == Relation::Equal) =>
            {
                self.symmetric(sides)
            }
            Node::Chain { sides, relations }
                if *relations == [Relation::Equal]
                    && reading.names().iter().eq(COORDINATES[..2].iter()) =>
            {
                self.implicit(&(sides[0].plain()?.clone() - sides[1].plain()?.clone()))
            }
            Node::Chain { .. } => match relation::labelled(reading) {
                Some((label, value)) if is_radius(label) => self.parametric(&coordinates(value)),
                _ => None,
            },
            Node::List { open: '(', .. } | Node::Matrix(_) if declared => {
                self.parametric(&coordinates(reading))
            }
            // `\{(1 + 2t, t) : t \in \mathbb{R}\}`
            Node::Builder { head, conditions } => match conditions.as_slice() {
                [only] if is_running(only) => self.parametric(&coordinates(head)),
                _ => None,
            },
            Node::Words(words) => spanned(words),
            Node::List { open: ' ', items, .. } => {
                let coordinate = |item: &Node| {
                    let label = relation::labelled(item).and_then(|(label, _)| label.symbol());
                    label.is_some_and(|label| COORDINATES.contains(&label))
                };
                let items = relation::named_values(items).filter(|_| items.iter().all(coordinate));
                self.parametric(&items.unwrap_or_default())
            }
            _ => None,
        }?;
        let direction: Vec<Rational> = from.iter().zip(&to).map(|(from, to)| to - from).collect();
        let first = direction.iter().position(|part| *part != Rational::ZERO)?;
        let direction: Vec<Rational> =
            direction.iter().map(|part| part / &direction[first]).collect();
        let point = from.iter().zip(&direction).map(|(place, part)| place - &from[first] * part);
        Some((point.collect(), direction))
    }

    /// Returns two points of `(1 + 2t, 3 - t)`: those of `t = 0` and `t = 1`.
    fn parametric(&mut self, items: &[Node]) -> Option<Points> {
        let mut names = items.iter().flat_map(Node::names);
        let name = names.next().filter(|name| lists(PARAMETERS, name))?;
        if names.any(|other| other != name) || !(2..=3).contains(&items.len()) {
            return None;
        }
        items.iter().map(|item| self.ends_of_unit(item.plain()?, &name)).collect()
    }

    /// Returns two points of `\frac{x-1}{2} = y = z`: those where all sides are 0 and 1.
    fn symmetric(&mut self, sides: &[Node]) -> Option<Points> {
        let ends = |name| {
            let of_name = |side: &&Expression| side.variables().iter().eq([name]);
            let side = sides.iter().filter_map(Node::plain).find(of_name)?;
            let (low, high) = self.ends_of_unit(side, name).filter(|(low, high)| low != high)?;
            // The side `low + (high - low) x` is 0 and 1 there.
            let slope = high - &low;
            Some((-&low / &slope, (Rational::ONE - low) / slope))
        };
        COORDINATES.into_iter().map(ends).collect()
    }

    /// Returns two points of `x - 2y = 3` in the plane; `None` for a curve.
    fn implicit(&mut self, side: &Expression) -> Option<Points> {
        let t = Expression::symbol("t");
        let mut solved = |name: &str, other: &str| {
            let zero = Expression::integer(0);
            let slope = self.slope(side, name).ok()??.with(other, &zero);
            Some(-side.with(name, &zero).with(other, &t) / slope)
        };
        let point = match solved("y", "x") {
            Some(y) => [t.clone(), y],
            None => [solved("x", "y")?, t.clone()],
        };
        self.parametric(&point.map(Node::from))
    }

    /// Returns the values at 0 and 1 of a linear function with rational ones.
    fn ends_of_unit(&mut self, side: &Expression, name: &str) -> Option<(Rational, Rational)> {
        let mut value = |place| {
            let value = side.with(name, &Expression::integer(place));
            self.algebra.normalise(&value).ok()?.as_constant()
        };
        let (low, high, next) = (value(0)?, value(1)?, value(2)?);
        (next - &high == &high - &low).then_some((low, high))
    }
}

fn coordinates(point: &Node) -> Vec<Node> {
    match point {
        Node::List { open: '(', items, .. } => items.clone(),
        Node::Matrix(rows) => Node::entries(rows),
        _ => Vec::new(),
    }
}

/// Returns true for `t \in \mathbb{R}`.
fn is_running(condition: &Node) -> bool {
    let running = |(name, set): (&Node, &Node)| {
        let name = name.symbol().filter(|name| lists(PARAMETERS, name));
        name.is_some() && set.symbol() == Some("\\mathbb R")
    };
    condition.membership().is_some_and(running)
}

/// Returns the origin and the only vector of "span 1 2", as [`crate::answer`] reads `\operatorname{span}\{(2, 4)\}`.
fn spanned(words: &str) -> Option<Points> {
    let entries = words.strip_prefix("span ")?.split(' ');
    let vector: Vec<Rational> = entries.map(|entry| entry.parse().ok()).collect::<Option<_>>()?;
    Some((vec![Rational::ZERO; vector.len()], vector))
}

/// Returns true for `\vec r`, `r`, `\vec r(t)` and `(x, y, z)`.
fn is_radius(label: &Node) -> bool {
    let is_name = |name: &str| name == "r" || name.starts_with("\\vec ");
    let named = |label: &Expression| match label {
        Expression::Symbol(name) => is_name(name),
        // The arrow may stand over the argument, too.
        Expression::Function(name, inner) if name == "vec" => {
            matches!(inner.as_slice(), [inner] if relation::applied(inner).is_some_and(runs))
        }
        label => {
            relation::applied(label).is_some_and(|(name, of)| is_name(name) && runs((name, of)))
        }
    };
    let point = || {
        let letters = coordinates(label);
        let usual = COORDINATES.iter().map(|name| Some(*name)).take(letters.len());
        letters.len() > 1 && letters.iter().map(Node::symbol).eq(usual)
    };
    label.expression().is_some_and(named) || point()
}

/// Returns true for the value of a function at a parameter.
fn runs((_, argument): (&str, &str)) -> bool {
    lists(PARAMETERS, argument)
}
