//! Comparison of one value in two notations: letters that are units, residues, unit vectors.

use super::{Comparison, Finding, Result};
use crate::answer::Node;
use crate::expression::Expression;
use crate::table::lists;
use crate::verdict::Rung;
use crate::words;

impl Comparison {
    /// Compares `3\vec i + 4\vec j` with `(3, 4)`; `None` if there is no unit vector.
    pub(super) fn unit_vectors(
        &mut self,
        expression: &Expression,
        items: &[Node],
    ) -> Result<Option<Finding>> {
        const NAMES: [&str; 3] = ["\\vec i", "\\vec j", "\\vec k"];
        // `2\hat{x} + 5\hat{z}`
        let with_letters = expression.substituted(&|name| {
            let place =
                ["\\hat x", "\\hat y", "\\hat z"].iter().position(|known| *known == name)?;
            Some(Expression::symbol(NAMES[place]))
        });
        let (expression, names) = (&with_letters, with_letters.variables());
        let known = names.iter().any(|name| NAMES.contains(&name.as_str()));
        if !known || !(2..=3).contains(&items.len()) {
            return Ok(None);
        }
        let number = Expression::integer;
        let component = |axis: Option<usize>| {
            expression.substituted(&|name| {
                let position = NAMES.iter().position(|known| *known == name)?;
                Some(number(i64::from(Some(position) == axis)))
            })
        };
        // An expression with a constant beside the vectors is no vector.
        if !self.expressions(&component(None), &number(0))?.0 {
            return self.shapes(Rung::Kind, "no vector", "a point").map(Some);
        }
        let components = (0..NAMES.len()).map(|axis| component(Some(axis)).into());
        let zero = Node::from(number(0));
        let point = items.iter().chain([&zero]).take(NAMES.len()).cloned();
        self.ordered(&components.collect::<Vec<_>>(), &point.collect::<Vec<_>>()).map(Some)
    }

    /// Compares residues with a modulus on both sides or on one only; `None` if there is none.
    pub(super) fn residues(
        &mut self,
        left: &Expression,
        right: &Expression,
    ) -> Result<Option<Finding>> {
        match (left.arguments_of("pmod"), right.arguments_of("pmod")) {
            (Some([value, _]), None) => self.expressions(value, right).map(Some),
            (None, Some([value, _])) => self.expressions(left, value).map(Some),
            (Some([a, modulus]), Some([b, other])) => {
                let moduli = self.expressions(modulus, other)?;
                if !moduli.0 {
                    return Ok(Some(moduli));
                }
                self.expressions(a, b).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Reads `5m` as 5 with the unit that its last letters may be.
pub(super) fn letters_as_unit(expression: &Expression) -> Option<(Expression, String)> {
    let Expression::Product(factors) = expression else { return None };
    let letters = factors.iter().rev().take_while(|factor| letter(factor).is_some()).count();
    let (before, letters) = factors.split_at(factors.len() - letters.min(factors.len() - 1));
    let phrase: Vec<&str> = letters.iter().filter_map(letter).collect();
    let value = Expression::product(before.to_vec());
    Some((value, words::unit(&phrase.join(" "))?))
}

/// Returns a single letter that may be a unit.
fn letter(expression: &Expression) -> Option<&str> {
    // Units named after people have a capital letter: `5n` is no force.
    let is_unit = |name: &&str| name.len() == 1 && !lists("n j v w a k c", name);
    expression.as_symbol().filter(is_unit)
}
