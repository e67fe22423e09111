//! Families of values that an integer numbers: `x = \frac{\pi}{4} + k\pi`, `n \equiv 3 \pmod 7`.

use super::{Comparison, Result};
use crate::answer::{Answer, Node};
use crate::expression::{Assignments, Expression};
use crate::relation;

/// A first value, and the step to the next.
struct Family {
    label: Option<Node>,
    offset: Expression,
    step: Expression,
}

impl Comparison {
    /// Returns true if both answers are families of equal steps, and a member of one is a member of the other.
    pub(super) fn same_family(&mut self, response: &Answer, gold: &Answer) -> Result<bool> {
        let (Some(a), Some(b)) = (self.family(response)?, self.family(gold)?) else {
            return Ok(false);
        };
        let labels = a.label.as_ref().zip(b.label.as_ref());
        if labels.is_some_and(|(a, b)| a != b) {
            return Ok(false);
        }
        let opposite = Expression::negative(b.step.clone());
        if !self.expressions(&a.step, &b.step)?.0 && !self.expressions(&a.step, &opposite)?.0 {
            return Ok(false);
        }
        let between = Expression::quotient(difference(&a.offset, &b.offset), b.step);
        let steps = self.algebra.normalise(&between)?.as_constant();
        Ok(steps.is_some_and(|steps| steps.is_int()))
    }

    /// Returns the family of an answer that is a linear function of its only integer.
    fn family(&mut self, answer: &Answer) -> Result<Option<Family>> {
        let Ok([reading, ..]) = answer.readings.as_deref() else { return Ok(None) };
        let (label, value) = match relation::labelled(reading) {
            Some((label, value)) => (Some(label.clone()), value),
            None => (None, reading),
        };
        let Some(value) = value.plain() else { return Ok(None) };
        if let Some([residue, modulus]) = value.arguments_of("pmod") {
            let (offset, step) = (residue.clone(), modulus.clone());
            return Ok(Some(Family { label, offset, step }));
        }
        let Some(name) = answer.integer() else { return Ok(None) };
        let [first, second, third] = [0, 1, 2].map(|count| {
            value.with(&Assignments::from([(name.as_str(), &Expression::integer(count))]))
        });
        let step = difference(&second, &first);
        let linear = self.expressions(&step, &difference(&third, &second))?.0;
        let family = Family { label, offset: first, step };
        Ok((linear && !family.step.has_variable()).then_some(family))
    }
}

fn difference(left: &Expression, right: &Expression) -> Expression {
    Expression::Sum(vec![left.clone(), Expression::negative(right.clone())])
}
