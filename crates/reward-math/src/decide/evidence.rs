//! Evidence for differences between answers.

use dashu::Rational;

use super::difference::{Difference, chain};
use super::{Comparison, Finding, Result};
use crate::answer::{Node, Relation};
use crate::expression::Expression;
use crate::normal_form;
use crate::numeric::{self, Enclosures};
use crate::verdict::{Rung, Side, Values, Witness};

/// Most members that one without a partner is shown to differ from.
const MOST_MEMBERS: usize = 64;

impl Comparison {
    /// Notes a difference and returns the finding.
    #[expect(clippy::unnecessary_wraps, reason = "the result of a comparison")]
    pub(super) fn differ(&mut self, rung: Rung, difference: Difference) -> Result<Finding> {
        self.difference = Some(difference);
        Ok((false, rung))
    }

    pub(super) fn shapes(
        &mut self,
        rung: Rung,
        response: impl Into<String>,
        gold: impl Into<String>,
    ) -> Result<Finding> {
        self.differ(rung, Difference::Shapes(response.into(), gold.into()))
    }

    /// Runs a comparison with exchanged sides.
    pub(super) fn turned<T>(&mut self, compare: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let result = compare(self);
        self.difference = self.difference.take().map(Difference::turned);
        result
    }

    /// Returns evidence for the difference, if it can be had.
    pub(super) fn witness(&mut self, difference: Difference) -> Option<Witness> {
        match difference {
            Difference::Expressions(Expression::Number(a), Expression::Number(b)) => {
                let ends = |part: &Rational| [part.to_string(), part.to_string()];
                let [response, ground_truth] = [&a, &b].map(|n| [ends(n), ends(&Rational::ZERO)]);
                let values = Values { point: Vec::new(), response, ground_truth };
                (a != b).then_some(Witness::Values(values))
            }
            Difference::Apart(apart) => Some(Witness::Values(*apart)),
            Difference::Expressions(a, b) => self.apart(&a, &b).map(Witness::Values),
            Difference::Shapes(response, gold) => Witness::shapes(response, gold),
            Difference::Member { side, member, others } => {
                let evidence = others.iter().map(|other| {
                    self.difference = None;
                    let (left, right) = match side {
                        Side::Response => (&member, other),
                        Side::GroundTruth => (other, &member),
                    };
                    let wrong = matches!(self.compare(left, right), Ok((false, _)));
                    let difference = self.difference.take().filter(|_| wrong)?;
                    self.witness(difference)
                });
                let evidence = evidence.take(MOST_MEMBERS).collect::<Option<Vec<_>>>()?;
                Some(Witness::Member { side, member: normal_form::as_read(&member), evidence })
            }
            Difference::Relations(left, right) => self.relations(&left, &right),
        }
    }

    pub(super) fn apart(&mut self, a: &Expression, b: &Expression) -> Option<Values> {
        match numeric::compare(a, b, &mut self.enclosure_fuel) {
            Enclosures::Different(apart) => Some(*apart),
            _ => None,
        }
    }

    /// Compares `p q'` with `p' q`, where `p = 0` and `q = 0` are the relations, and `'` marks another point.
    fn relations(&mut self, left: &Node, right: &Node) -> Option<Witness> {
        let ((a, a_relations), (b, b_relations)) = (chain(left)?, chain(right)?);
        let signs = |relations: &[Relation]| format!("{relations:?}");
        if a_relations != b_relations
            && a_relations.iter().zip(b_relations).any(|(a, b)| a.flipped() != *b)
            || a.len() != b.len()
        {
            return Witness::shapes(signs(a_relations), signs(b_relations));
        }
        let difference = |sides: &[Node]| match sides {
            [a, b] => Some(a.expression()?.clone() - b.expression()?.clone()),
            _ => None,
        };
        let (Some(p), Some(q)) = (difference(a), difference(b)) else {
            return self.sides(a, b);
        };
        let moved = |side: &Expression| {
            let names = side.variables();
            side.substituted(&|name| {
                names.contains(name).then(|| Expression::Symbol(format!("{name}'")))
            })
        };
        match self.apart(&(p.clone() * moved(&q)), &(moved(&p) * q)) {
            Some(apart) => Some(Witness::Proportion(apart)),
            // Multiples of one difference, in the relation or its opposite.
            None => self.sides(a, b).or_else(|| {
                let opposite: Vec<Relation> = b_relations.iter().map(|b| b.flipped()).collect();
                let other = if a_relations == b_relations { &opposite[..] } else { b_relations };
                Witness::shapes(signs(a_relations), signs(other))
            }),
        }
    }

    /// Returns evidence against one side of each relation: a label, or a side of a chain.
    fn sides(&mut self, left: &[Node], right: &[Node]) -> Option<Witness> {
        left.iter().zip(right).find_map(|(a, b)| {
            self.difference = None;
            let wrong = matches!(self.compare(a, b), Ok((false, _)));
            let difference = self.difference.take().filter(|_| wrong)?;
            match difference {
                Difference::Expressions(a, b)
                    if [&a, &b].iter().any(|side| side.has_variable())
                        && [&a, &b].iter().all(|side| side.is_rational_function()) =>
                {
                    let [a, b] = [a, b].map(|side| normal_form::as_read(&side.into()));
                    Witness::shapes(a, b)
                }
                difference => self.witness(difference),
            }
        })
    }
}
