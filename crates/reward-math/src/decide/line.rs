//! Lines: `\frac{x-1}{2} = y + 3 = z`, `(1, -3, 0) + t(2, 1, 1)` and `x = 1 + 2t, y = -3 + t, z = t`.

use dashu::Rational;

use super::{Comparison, Result};
use crate::answer::{Answer, Node, Relation};
use crate::expression::{Assignments, Expression};
use crate::relation;
use crate::table::lists;

/// Names of coordinates.
const COORDINATES: [&str; 3] = ["x", "y", "z"];

/// Names of the number that runs along a line.
const PARAMETERS: &str = "t s r u \\lambda \\mu";

/// The point of a line whose coordinate is 0 where the direction's is 1 first, and that direction.
type Line = (Vec<Rational>, Vec<Rational>);

impl Comparison {
    /// Returns true if both answers are the same line.
    pub(super) fn same_line(&mut self, response: &Answer, gold: &Answer) -> Result<bool> {
        let mut line = |answer: &Answer| match (answer.readings.as_deref(), &answer.parameter) {
            (Ok([reading, ..]), None) => self.line(reading, false),
            (Ok([reading, ..]), Some((_, set))) if set == "R" => self.line(reading, true),
            _ => Ok(None),
        };
        let (response, gold) = (line(response)?, line(gold)?);
        Ok(response.is_some() && response == gold)
    }

    /// Returns the line of a reading; a point without a name only if it is `declared` to run.
    fn line(&mut self, reading: &Node, declared: bool) -> Result<Option<Line>> {
        let places = match reading {
            Node::Chain { sides, relations }
                if sides.len() == 3 && relations.iter().all(|sign| *sign == Relation::Equal) =>
            {
                self.symmetric(sides)?
            }
            Node::Chain { .. } => match relation::labelled(reading) {
                Some((label, value)) if is_radius(label) => self.parametric(&coordinates(value))?,
                _ => None,
            },
            Node::List { open: '(', .. } | Node::Matrix(_) if declared => {
                self.parametric(&coordinates(reading))?
            }
            Node::List { open: ' ', items, .. } => {
                let coordinate = |item: &Node| {
                    let label = relation::labelled(item).and_then(|(label, _)| label.symbol());
                    label.is_some_and(|label| COORDINATES.contains(&label))
                };
                let items = relation::named_values(items).filter(|_| items.iter().all(coordinate));
                self.parametric(&items.unwrap_or_default())?
            }
            _ => None,
        };
        let Some([from, to]) = places else { return Ok(None) };
        let direction: Vec<Rational> = from.iter().zip(&to).map(|(from, to)| to - from).collect();
        let first = direction.iter().position(|part| *part != Rational::ZERO);
        let Some(first) = first else { return Ok(None) };
        let direction: Vec<Rational> =
            direction.iter().map(|part| part / &direction[first]).collect();
        let point = from.iter().zip(&direction).map(|(place, part)| place - &from[first] * part);
        Ok(Some((point.collect(), direction)))
    }

    /// Returns two points of `(1 + 2t, 3 - t)`: those of `t = 0` and `t = 1`.
    fn parametric(&mut self, items: &[Node]) -> Result<Option<[Vec<Rational>; 2]>> {
        let mut names = items.iter().flat_map(Node::names);
        let Some(name) = names.next().filter(|name| lists(PARAMETERS, name)) else {
            return Ok(None);
        };
        if names.any(|other| other != name) || !(2..=3).contains(&items.len()) {
            return Ok(None);
        }
        let mut points = [Vec::new(), Vec::new()];
        for item in items {
            let Some(item) = item.plain() else { return Ok(None) };
            let Some(ends) = self.ends_of_unit(item, &name)? else { return Ok(None) };
            for (point, end) in points.iter_mut().zip(ends) {
                point.push(end);
            }
        }
        Ok(Some(points))
    }

    /// Returns two points of `\frac{x-1}{2} = y = z`: those where all sides are 0 and 1.
    fn symmetric(&mut self, sides: &[Node]) -> Result<Option<[Vec<Rational>; 2]>> {
        let mut points = [Vec::new(), Vec::new()];
        for name in COORDINATES {
            let side = sides
                .iter()
                .filter_map(Node::plain)
                .find(|side| side.variables().iter().map(String::as_str).eq([name]));
            let Some(side) = side else { return Ok(None) };
            let ends = self.ends_of_unit(side, name)?.filter(|[low, high]| low != high);
            let Some([low, high]) = ends else { return Ok(None) };
            // The side `low + (high - low) x` is 0 and 1 there.
            let slope = high - &low;
            points[0].push(-&low / &slope);
            points[1].push((Rational::ONE - low) / slope);
        }
        Ok(Some(points))
    }

    /// Returns the values at 0 and 1 of a linear function with rational ones.
    fn ends_of_unit(&mut self, side: &Expression, name: &str) -> Result<Option<[Rational; 2]>> {
        let mut values = Vec::new();
        for place in 0..3 {
            let place = Expression::integer(place);
            let value = side.with(&Assignments::from([(name, &place)]));
            let Some(value) = self.algebra.normalise(&value)?.as_constant() else {
                return Ok(None);
            };
            values.push(value);
        }
        let [low, high, next] = values.as_slice() else { return Ok(None) };
        Ok((next - high == high - low).then(|| [low.clone(), high.clone()]))
    }
}

fn coordinates(point: &Node) -> Vec<Node> {
    match point {
        Node::List { open: '(', items, .. } => items.clone(),
        Node::Matrix(rows) => rows.iter().flatten().cloned().map(Node::from).collect(),
        _ => Vec::new(),
    }
}

/// Returns true for `\vec r`, `r` and `(x, y, z)`.
fn is_radius(label: &Node) -> bool {
    let point = || coordinates(label).iter().map(Node::symbol).eq(COORDINATES.map(Some));
    label.symbol().is_some_and(|name| name == "r" || name.starts_with("\\vec ")) || point()
}
