//! Families of values that an integer numbers: `x = \frac{\pi}{4} + k\pi`, `n \equiv 3 \pmod 7`.

use std::collections::BTreeSet;

use dashu::Rational;

use super::difference::Difference;
use super::{Comparison, Result};
use crate::answer::{Answer, Node};
use crate::expression::Expression;
use crate::relation;
use crate::table::pattern;

/// A first value, and the step to the next.
#[derive(Clone)]
struct Family {
    label: Option<Node>,
    /// Brackets of a point or an interval, spaces for a value.
    brackets: (char, char),
    /// Coordinates of a point, or one value.
    offset: Vec<Expression>,
    step: Vec<Expression>,
}

impl Comparison {
    /// Returns true if both answers hold families of equal steps that have members in common, one to one.
    pub(super) fn same_families(&mut self, response: &Answer, gold: &Answer) -> Option<bool> {
        // Both are read before either ends the comparison: the fuel spent does not depend on which has no family.
        let (families, others) = (self.families(response), self.families(gold));
        let (families, others) = (families?, others?);
        // An integer that is not declared may be positive.
        let backwards = [response, gold].iter().any(|answer| {
            let declares =
                |reading: &Node| reading.is_residue() || matches!(reading, Node::Builder { .. });
            answer.parameter.is_some()
                || answer.readings.as_ref().is_ok_and(|all| all.iter().any(declares))
        });
        if let Some(same) = self.same_residues(&families, &others) {
            return Some(same);
        }
        let lone = |_: &Family, _: Vec<&Family>| {
            Difference::Shapes("a family".to_owned(), "no such family".to_owned())
        };
        let same =
            |comparison: &mut Self, a: &Family, b: &Family| comparison.same_family(a, b, backwards);
        self.one_to_one(&families, &others, same, lone).ok().map(|(same, _)| same)
    }

    /// Compares families as sets, if their steps are rational multiples of each other; `None` for others.
    ///
    /// `n \equiv 0, 1, 3 \pmod 4` is "n odd or 4 divides n", `\frac{k\pi}{2}` is `k\pi` and `\frac{\pi}{2} + k\pi`.
    fn same_residues(&mut self, families: &[Family], others: &[Family]) -> Option<bool> {
        const LARGEST: i64 = 360;
        let unit = families.first()?;
        let (mut parts, mut label) = (Vec::new(), None);
        for family in families.iter().chain(others) {
            let named = family.label.as_ref();
            let differs = named.is_some_and(|name| label.get_or_insert(name) != &name);
            let ([start], [step], (' ', _), false) =
                (&family.offset[..], &family.step[..], family.brackets, differs)
            else {
                return None;
            };
            let mut relative = |part: Expression| {
                self.algebra.normalise(&(part / unit.step[0].clone())).ok()?.as_constant()
            };
            let start = relative(start.clone() - unit.offset[0].clone())?;
            parts.push((start, relative(step.clone()).filter(|step| *step > Rational::ZERO)?));
        }
        let fits = |modulus: &Rational| {
            let mut turns = parts.iter().map(|(_, step)| modulus / step);
            turns.all(|turns| turns.is_int() && turns <= Rational::from(LARGEST))
        };
        let modulus = (1..=LARGEST).map(Rational::from).find(fits)?;
        let members = |parts: &[(Rational, Rational)]| {
            let members = parts.iter().flat_map(|(start, step)| {
                let first = start - step * (start / step).floor();
                let all = (0..LARGEST).map(move |count| &first + step * Rational::from(count));
                all.take_while(|member| *member < modulus)
            });
            members.collect::<BTreeSet<Rational>>()
        };
        let (parts, others) = parts.split_at(families.len());
        Some(members(parts) == members(others))
    }

    fn same_family(&mut self, a: &Family, b: &Family, backwards: bool) -> Result<bool> {
        let labels = a.label.as_ref().zip(b.label.as_ref());
        let kinds = a.brackets != b.brackets || a.step.len() != b.step.len();
        if labels.is_some_and(|(a, b)| a != b) || kinds {
            return Ok(false);
        }
        let opposite: Vec<_> = b.step.iter().map(|step| -step.clone()).collect();
        let opposed = backwards && self.all_equal(&a.step, &opposite)?;
        if !opposed && !self.all_equal(&a.step, &b.step)? {
            return Ok(false);
        }
        let mut steps = None;
        for ((a, b), step) in a.offset.iter().zip(&b.offset).zip(&b.step) {
            if self.expressions(step, &Expression::integer(0))?.0 {
                if !self.expressions(a, b)?.0 {
                    return Ok(false);
                }
                continue;
            }
            let between = (a.clone() - b.clone()) / step.clone();
            let count = self.algebra.normalise(&between)?.as_constant().filter(Rational::is_int);
            if count.is_none() || steps.is_some() && steps != count {
                return Ok(false);
            }
            steps = count;
        }
        Ok(steps.is_some())
    }

    pub(super) fn all_equal(&mut self, a: &[Expression], b: &[Expression]) -> Result<bool> {
        a.iter().zip(b).try_fold(true, |all, (a, b)| Ok(all && self.expressions(a, b)?.0))
    }

    /// Returns the families of an answer that consists of them.
    fn families(&mut self, answer: &Answer) -> Option<Vec<Family>> {
        let items = match answer.readings.as_ref().ok()?.first()? {
            Node::List { open: '{', items, .. } => items,
            other => other.items(),
        };
        // `x = 5 - 7m, y = -3 + 4m`: a point.
        let point = relation::named_values(items).filter(|values| values.len() > 1);
        let point = point.map(Node::tuple);
        let items = point.as_ref().map_or(items, std::slice::from_ref);
        self.families_of(items, answer.integer().as_deref())
    }

    /// Returns the families of some items; `None` if one is no family.
    fn families_of(&mut self, items: &[Node], integer: Option<&str>) -> Option<Vec<Family>> {
        const MOST: usize = 8;
        if !(1..=MOST).contains(&items.len()) {
            return None;
        }
        let families = items.iter().map(|item| self.family(item, integer));
        Some(families.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Returns the family of a linear function of the integer, or one of its even and one of its odd values.
    fn family(&mut self, item: &Node, integer: Option<&str>) -> Option<Vec<Family>> {
        // `\{k\pi : k \in \mathbb{Z}\}`
        if let Node::Builder { head, conditions } = item
            && let [only] = conditions.as_slice()
            && let Some((member, set)) = only.membership()
            && set.symbol() == Some("\\mathbb Z")
        {
            return self.families_of(head.items(), member.symbol());
        }
        // `\{n \in \mathbb{Z} : n \equiv 1 \pmod 2\}`: the name of the member is bound.
        if let Node::Builder { head, conditions } = item
            && let [stated, domain] = conditions.as_slice()
            && stated.is_residue()
            && domain.membership().is_some_and(|(member, set)| {
                *member == **head && set.symbol() == Some("\\mathbb Z")
            })
        {
            let (_, residue) = relation::labelled(stated).filter(|(name, _)| *name == &**head)?;
            return self.families_of(std::slice::from_ref(residue), None);
        }
        let (label, value) = match relation::labelled(item) {
            Some((label, value)) => (Some(label.clone()), value),
            None => (None, item),
        };
        if let Node::Words(words) = value {
            return Some(vec![Family { label, ..described(words)? }]);
        }
        // `n \text{ odd}`
        if let Node::Value { expression: Expression::Symbol(_), unit: Some(kind) } = value {
            return Some(vec![described(kind)?]);
        }
        let (coordinates, brackets) = match value {
            Node::List { open: open @ ('(' | '['), close, items } => {
                (items.iter().map(Node::plain).collect(), (*open, *close))
            }
            value => (value.plain().map(|value| vec![value]), (' ', ' ')),
        };
        // `f(n) = 2n - 7` is one function.
        let function = |label: &Node| {
            matches!(label.expression(), Some(Expression::Function(..)))
                && integer.is_some_and(|name| label.names().contains(name))
        };
        let function = label.as_ref().is_some_and(function);
        let coordinates = coordinates.filter(|_| !function)?;
        if let Some([residue, modulus]) = coordinates[0].arguments_of("pmod") {
            let (offset, step) = (vec![residue.clone()], vec![modulus.clone()]);
            return Some(vec![Family { label, brackets, offset, step }]);
        }
        self.linear(
            integer?,
            &coordinates,
            &Family { label, brackets, offset: vec![], step: vec![] },
        )
    }

    /// Returns the family of functions that are linear in the integer, or linear in its even and in its odd values.
    fn linear(
        &mut self,
        name: &str,
        coordinates: &[&Expression],
        family: &Family,
    ) -> Option<Vec<Family>> {
        for starts in [&[0_i64][..], &[0, 1]] {
            let mut families = Vec::new();
            let stride = i64::try_from(starts.len()).unwrap_or(1);
            for start in starts {
                let points: [Vec<Expression>; 3] = [0, 1, 2].map(|count| {
                    let count = Expression::integer(start + stride * count);
                    coordinates.iter().map(|value| value.with(name, &count)).collect()
                });
                let steps = |low: &[Expression], high: &[Expression]| -> Vec<Expression> {
                    low.iter().zip(high).map(|(low, high)| high.clone() - low.clone()).collect()
                };
                let (step, next) = (steps(&points[0], &points[1]), steps(&points[1], &points[2]));
                if self.all_equal(&step, &next).ok()? && !step.iter().any(Expression::has_variable)
                {
                    let [offset, ..] = points;
                    families.push(Family { offset, step, ..family.clone() });
                }
            }
            if families.len() == starts.len() {
                return Some(families);
            }
        }
        None
    }
}

/// Returns the family of "all odd integers n" and "multiples of 6".
fn described(words: &str) -> Option<Family> {
    let kind = pattern!(
        r"^(?:[a-z] )?(?:all |every )?(?:(odd|even)(?: integer| number)?|(?:integer )?(?:multiple of|divisible by) ([0-9]{1,9}))(?: [a-z])?$"
    );
    let parts = kind.captures(words)?;
    let number = |value: i64| vec![Expression::integer(value)];
    let (offset, step) = match parts.get(2) {
        Some(step) => (0, step.as_str().parse().ok()?),
        None => (i64::from(&parts[1] == "odd"), 2),
    };
    let brackets = (' ', ' ');
    Some(Family { label: None, brackets, offset: number(offset), step: number(step) })
}
