//! Names that stand for any number: the integer of a family, the constants of a function.

use std::collections::BTreeSet;

use super::{Answer, Node, same_set};
use crate::expression::Expression;
use crate::relation;
use crate::table::single;

/// Most constants that are exchanged.
const MOST: usize = 3;

/// Most formulas that one integer numbers.
const MOST_FORMULAS: usize = 64;

impl Answer {
    /// Returns the readings with the integer parameter renamed as in the other answer, if both have one and the names differ.
    pub(crate) fn with_parameter_of(&self, other: &Self) -> Option<Vec<Node>> {
        let readings = self.readings.as_deref().ok()?;
        let (from, to) = match (&self.parameter, &other.parameter) {
            (Some((from, set)), Some((to, other))) if same_set(set, other) => {
                (from.clone(), to.clone())
            }
            (None, Some((to, set))) if set == "Z" => (self.integer()?, to.clone()),
            (None, Some((to, set))) if set == "R" || set == "C" => {
                (self.only_constant(to)?, to.clone())
            }
            _ => return None,
        };
        let free = |node: &Node| !node.names().contains(&to);
        (from != to && readings.iter().all(free))
            .then(|| readings.iter().map(|node| node.renamed(&from, &to)).collect())
    }

    /// Returns the name of the declared integer, or without a declaration the only one of `k`, `l`, `m`, `n`, `s`, `t`.
    pub(crate) fn integer(&self) -> Option<String> {
        const USUAL: [&str; 6] = ["k", "l", "m", "n", "s", "t"];
        if let Some((name, set)) = &self.parameter {
            return (set == "Z").then(|| name.clone());
        }
        let reading = self.readings.as_deref().ok().filter(|_| !self.declares)?.first()?;
        if reading.items().len() > MOST_FORMULAS {
            return None;
        }
        // In `n = 6k + 1` it is k.
        let value = |item| match relation::labelled(item) {
            Some((label, value)) if label.symbol().is_some() => value,
            _ => item,
        };
        let names: BTreeSet<String> =
            reading.items().iter().flat_map(|item| value(item).names()).collect();
        let usual = USUAL.into_iter().filter(|name| names.contains(*name));
        single(usual).map(str::to_owned)
    }

    /// Returns the only name of `f(x) = kx` but its argument, if that is not the name given.
    fn only_constant(&self, other: &str) -> Option<String> {
        let [reading] = self.readings.as_deref().ok()? else { return None };
        let Node::Chain { sides, .. } = reading else { return None };
        let (argument, names) = (arguments(reading), sides.last()?.names());
        let names = names.difference(&argument).filter(|_| !argument.is_empty());
        single(names).filter(|only| *only != other).cloned()
    }

    /// Returns the readings with the constant of a curve named as in the other answer: `x^2 + y^2 = C` and `y^2 = K - x^2`.
    pub(crate) fn with_constant_of_curve(&self, other: &Self) -> Option<Vec<Node>> {
        let (readings, others) = (self.readings.as_deref().ok()?, other.readings.as_deref().ok()?);
        let (from, to) = (constant_of_curve(readings)?, constant_of_curve(others)?);
        let capital = from.starts_with('C') || to.starts_with('C');
        let renamed = || readings.iter().map(|node| node.renamed(&from, &to)).collect();
        (from != to && capital).then(renamed)
    }

    /// Returns the readings with the constants named as in the other answer, in each order, if that declares several.
    ///
    /// Without a declaration the constants are the names that the other answer has not, but for the argument of a function.
    pub(crate) fn with_constants_of(&self, other: &Self) -> Vec<Vec<Node>> {
        let (Ok(readings), Ok(others)) = (&self.readings, &other.readings) else {
            return Vec::new();
        };
        let names = |nodes: &[Node]| nodes.iter().flat_map(Node::names).collect::<BTreeSet<_>>();
        let Some(to) = &other.constants else { return Vec::new() };
        let from = match &self.constants {
            Some(from) if !same_set(&from.set, &to.set) => return Vec::new(),
            Some(from) => from.names.clone(),
            None => {
                let arguments = readings.first().map(arguments).unwrap_or_default();
                let known: BTreeSet<String> = names(others).into_iter().chain(arguments).collect();
                names(readings).difference(&known).cloned().collect()
            }
        };
        if from.len() != to.names.len() || !(2..=MOST).contains(&from.len()) {
            return Vec::new();
        }
        let renamed = |order: Vec<String>| {
            let new = |name: &str| {
                let place = from.iter().rposition(|known| known == name)?;
                Some(Expression::symbol(&order[place]))
            };
            readings.iter().map(|node| node.mapped(&mut |part| part.substituted(&new))).collect()
        };
        super::orders(&to.names).into_iter().map(renamed).collect()
    }
}

/// Returns the only constant of a curve's equation in x, y and t.
fn constant_of_curve(readings: &[Node]) -> Option<String> {
    let names = readings.first().filter(|node| node.is_chain())?.names();
    let is_constant = |name: &&String| matches!(name.as_str(), "C" | "K" | "c" | "k" | "C_1");
    let only = single(names.iter().filter(is_constant))?;
    let of_curve = |name: &String| name == only || matches!(name.as_str(), "x" | "y" | "t");
    (names.iter().all(of_curve) && names.len() > 2).then(|| only.clone())
}

/// Returns the names in the argument of `f(x) = …`.
fn arguments(reading: &Node) -> BTreeSet<String> {
    let Node::Chain { sides, .. } = reading else { return BTreeSet::new() };
    match sides[0].expression() {
        Some(Expression::Function(_, arguments)) => {
            arguments.iter().flat_map(Expression::variables).collect()
        }
        _ => BTreeSet::new(),
    }
}
