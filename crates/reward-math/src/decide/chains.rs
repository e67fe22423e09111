//! Equations, inequalities and labels.

use dashu::Rational;

use super::difference::{Difference, kind};
use super::{Comparison, Finding, Result, values::holds_infinity};
use crate::algebra::Fraction;
use crate::answer::{Node, Relation};
use crate::expression::{Assignments, Expression};
use crate::relation::{self, Assertion};
use crate::verdict::Rung;

impl Comparison {
    pub(super) fn chains(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        if self.same_relation(left, right)? {
            return Ok((true, Rung::Relation));
        }
        if let (Some((_, value)), Some(renamed)) =
            (relation::labelled(left), relation::with_same_argument(left, right))
        {
            return Ok((self.compare(value, &renamed)?.0, Rung::Relation));
        }
        // `|z| = \sqrt{4} = 2` is `|z| = 2`.
        if let (Node::Chain { sides: a, .. }, Node::Chain { sides: b, .. }) = (left, right)
            && a.len() != b.len()
            && let Some(shorter) = self.shortened(if a.len() > b.len() { left } else { right })?
        {
            let (left, right) =
                if a.len() > b.len() { (&shorter, right) } else { (left, &shorter) };
            return self.chains(left, right);
        }
        // y = 2x + 1 and f(x) = 2x + 1: the labels are dropped where they differ in kind.
        if let (Some((a_label, a)), Some((b_label, b))) =
            (relation::labelled(left), relation::labelled(right))
            && relation::same_label(a_label, b_label)
        {
            return Ok((self.compare(a, b)?.0, Rung::Relation));
        }
        // `(a, b) = (2, 3)` and `(b, a) = (3, 2)`.
        if let (
            Some((Node::List { items: a_labels, .. }, Node::List { items: a, .. })),
            Some((Node::List { items: b_labels, .. }, Node::List { items: b, .. })),
        ) = (relation::labelled(left), relation::labelled(right))
            && a_labels.len() == a.len()
            && b_labels.len() == b.len()
        {
            let place = |label| b_labels.iter().position(|other| other == label);
            let moved: Option<Vec<Node>> =
                a_labels.iter().map(|label| b.get(place(label)?).cloned()).collect();
            if let Some(moved) = moved.filter(|moved| moved.len() == b.len()) {
                return Ok((self.ordered(a, &moved)?.0, Rung::Relation));
            }
        }
        // `x = y = 2` and `(x, y) = (2, 2)`.
        for (chain, other) in [(left, right), (right, left)] {
            if let (Some(list), Some((Node::List { .. }, value))) =
                (relation::shared(chain), relation::labelled(other))
            {
                return Ok((self.compare(&list, value)?.0, Rung::Relation));
            }
        }
        // `S = \sum_{k=1}^{9} \sqrt k` and `\sum_{k=1}^{9} \sqrt k \approx 19.3`.
        for (chain, other) in [(left, right), (right, left)] {
            if let Some(Assertion { value, label: None, rounded: Some(_), .. }) =
                relation::asserted(other)
            {
                return self.chain_with(chain, value);
            }
        }
        self.differ(Rung::Relation, Difference::Relations(left.clone(), right.clone()))
    }

    /// Returns the first and last side of a chain of equations, if those between agree with the last.
    fn shortened(&mut self, chain: &Node) -> Result<Option<Node>> {
        let Some(Assertion { value, label: Some(label), members, rounded: None }) =
            relation::asserted(chain)
        else {
            return Ok(None);
        };
        for member in &members {
            if !self.compare(member, value)?.0 {
                return Ok(None);
            }
        }
        Ok((!members.is_empty()).then(|| Node::equation(label.clone(), value.clone())))
    }

    /// Side by side, the same relations, read in either direction; or one equation that is a multiple of the other.
    fn same_relation(&mut self, left: &Node, right: &Node) -> Result<bool> {
        let (
            Node::Chain { sides: a, relations: a_relations },
            Node::Chain { sides: b, relations: b_relations },
        ) = (left, right)
        else {
            return Ok(false);
        };
        if a.len() != b.len() {
            return Ok(false);
        }
        let backwards: Vec<Relation> = b_relations.iter().rev().map(|r| r.flipped()).collect();
        if a_relations == b_relations && self.ordered(a, b)?.0 {
            return Ok(true);
        }
        let reversed: Vec<Node> = b.iter().rev().cloned().collect();
        if *a_relations == backwards && self.ordered(a, &reversed)?.0 {
            return Ok(true);
        }
        let ([a_relation], [b_relation]) = (a_relations.as_slice(), b_relations.as_slice()) else {
            let mut relations = a_relations.iter().chain(b_relations);
            let equations = relations.all(|relation| *relation == Relation::Equal);
            return if equations { self.one_multiple(a, b) } else { Ok(false) };
        };
        // `b = 2A/h` is not `h = 2A/b`, but `x = y/2` is the line `y = 2x`.
        let solved_for = |node: &Node| {
            let (label, _) = relation::labelled(node)?;
            relation::symbol(label)
                .filter(|name| !matches!(*name, "x" | "y" | "z"))
                .map(str::to_owned)
        };
        if let (Some(name), Some(other)) = (solved_for(left), solved_for(right))
            && name != other
        {
            return Ok(false);
        }
        // `x^2 + y^2 = C`: a multiple of a free constant is one.
        let free = |sides: &[Node]| sides[1].symbol() == Some("C");
        if free(a) && free(b) && (*a_relation, *b_relation) == (Relation::Equal, Relation::Equal) {
            return self.one_multiple(&a[..1], &b[..1]);
        }
        let (Some(p), Some(q)) = (self.difference(&a[0], &a[1])?, self.difference(&b[0], &b[1])?)
        else {
            return Ok(false);
        };
        // What holds for all values says nothing of them.
        if p.numerator.is_zero() && q.numerator.is_zero() {
            return Ok(false);
        }
        if relation::proportional(&mut self.algebra, (&p, *a_relation), (&q, *b_relation))? {
            return Ok(true);
        }
        let equations = (*a_relation, *b_relation) == (Relation::Equal, Relation::Equal);
        if equations { self.same_equation(a, b) } else { Ok(false) }
    }

    /// Returns true if each side of `\frac{x-1}{2} = \frac{y}{3} = z` is the same multiple of the other's side there.
    fn one_multiple(&mut self, a: &[Node], b: &[Node]) -> Result<bool> {
        let mut multiple = None;
        for (a, b) in a.iter().zip(b) {
            let (Some(a), Some(b)) = (a.plain(), b.plain()) else { return Ok(false) };
            if !a.has_variable() || !b.has_variable() {
                return Ok(false);
            }
            let (first, second) = (self.algebra.normalise(a)?, self.algebra.normalise(b)?);
            let leading =
                |side: &Fraction| Some(side.numerator.leading()? / side.denominator.leading()?);
            let (Some(top), Some(bottom)) = (leading(&first), leading(&second)) else {
                return Ok(false);
            };
            let factor = multiple.get_or_insert_with(|| top / bottom);
            let scaled = second.scaled(factor);
            if !self.algebra.equal(&first, &scaled)? {
                return Ok(false);
            }
        }
        Ok(multiple.is_some())
    }

    /// Returns true if both equations are linear in a variable, and equal once its coefficients are:
    /// `y/2 = \sin x \cos x` and `y = \sin 2x`.
    fn same_equation(&mut self, a: &[Node], b: &[Node]) -> Result<bool> {
        let zero = |sides: &[Node]| Some(sides[0].plain()?.clone() - sides[1].plain()?.clone());
        let (Some(p), Some(q)) = (zero(a), zero(b)) else { return Ok(false) };
        for name in p.variables().intersection(&q.variables()) {
            if let (Some(p_slope), Some(q_slope)) = (self.slope(&p, name)?, self.slope(&q, name)?) {
                return Ok(self.expressions(&(p * q_slope), &(q * p_slope))?.0);
            }
        }
        Ok(false)
    }

    /// Returns the coefficient of a variable in which an expression is linear, if it is a number other than 0.
    fn slope(&mut self, side: &Expression, name: &str) -> Result<Option<Expression>> {
        let set = |value| {
            let value = Expression::integer(value);
            side.with(&Assignments::from([(name, &value)]))
        };
        let rise = |low, high| set(high) - set(low);
        let [first, second] = [rise(0, 1), rise(1, 2)].map(|rise| self.algebra.normalise(&rise));
        // A denominator may be 0 there.
        let (Ok(first), Ok(second)) = (first, second) else { return Ok(None) };
        let linear = !first.numerator.is_zero()
            && self.algebra.is_number(&first)
            && self.algebra.equal(&first, &second)?;
        Ok(linear.then(|| rise(0, 1)))
    }

    fn difference(&mut self, left: &Node, right: &Node) -> Result<Option<Fraction>> {
        let (Some(a), Some(b)) = (left.expression(), right.expression()) else { return Ok(None) };
        if holds_infinity(a) || holds_infinity(b) {
            return Ok(None);
        }
        let (first, second) = (self.algebra.normalise(a)?, self.algebra.normalise(b)?);
        self.algebra.subtract(&first, &second).map(Some)
    }

    /// `x = y = 2` against the values of both.
    pub(super) fn shared_with(&mut self, chain: &Node, other: &Node) -> Result<Finding> {
        // `-2 < 0 < 1` and `-2, 0, 1`: from least to greatest.
        if let (Node::Chain { sides, relations }, Node::List { open: ' ' | '(', items, .. }) =
            (chain, other)
            && sides.len() > 2
            && relations.iter().all(|sign| *sign == Relation::Less)
            && !chain.has_variable()
        {
            return self.ordered(sides, items);
        }
        match (relation::shared(chain), other) {
            (Some(list), Node::List { .. }) => self.compare(&list, other),
            _ => self.shapes(Rung::Kind, kind(chain), kind(other)),
        }
    }

    /// A chain against something that is none: the value that it asserts, if its other sides do not contradict.
    pub(super) fn chain_with(&mut self, chain: &Node, other: &Node) -> Result<Finding> {
        if let found @ (true, _) = self.shared_with(chain, other)? {
            return Ok(found);
        }
        // `(n, k) = (3, 2)` and `k = 2, n = 3`.
        if let (Some(list), Node::List { open: ' ', items, .. }) = (relation::by_name(chain), other)
            && relation::values_of_labelled(items).is_some()
        {
            return Ok((self.compare(&list, other)?.0, Rung::Relation));
        }
        let Some(assertion) = relation::asserted(chain) else {
            return match self.identity(chain)? {
                Some(value) => Ok((self.compare(&value, other)?.0, Rung::Relation)),
                None => self.shapes(Rung::Kind, kind(chain), kind(other)),
            };
        };
        // `24\sqrt3 \approx 41.57\text{ cm}^2`: the exact value has that unit.
        let mut measured_value = assertion.value.clone();
        if let (Node::Value { unit: unit @ None, .. }, Some(Node::Value { unit: of_rounded, .. })) =
            (&mut measured_value, assertion.rounded)
            && of_rounded.as_deref() != Some("degree")
        {
            unit.clone_from(of_rounded);
        }
        // `4.2 \times 10^3 \times 100 = 4.2 \times 10^5\text{ J} = 420\text{ kJ}`: the first is in joules.
        let measured = |node: &&&Node| matches!(node, Node::Value { unit: Some(_), .. });
        let others: Vec<&Node> = assertion.members.iter().filter(measured).copied().collect();
        for member in &assertion.members {
            let alike =
                |comparison: &mut Self, other: &Node| Ok(comparison.compare(member, other)?.0);
            let mut agrees = assertion.value.is_residue() || alike(self, assertion.value)?;
            for other in others.iter().filter(|_| !measured(&member)) {
                agrees = agrees || alike(self, other)?;
            }
            if !agrees {
                return Ok((false, Rung::Relation));
            }
        }
        let renamed = relation::in_argument_of(assertion.label, other);
        let equal = self.compare(&measured_value, renamed.as_ref().unwrap_or(other))?.0;
        let rounded = match assertion.rounded {
            Some(rounded) if !equal => self.rounds(assertion.value, rounded, other)?,
            _ => false,
        };
        Ok((equal || rounded, Rung::Relation))
    }

    /// Returns the number that all sides of `\frac{2F_k}{F_k} = 2` equal, whatever the names stand for.
    fn identity(&mut self, chain: &Node) -> Result<Option<Node>> {
        let Node::Chain { sides, relations } = chain else { return Ok(None) };
        let (Some(first), Some(last)) = (sides[0].plain(), sides.last().and_then(Node::plain))
        else {
            return Ok(None);
        };
        let equation = relations == &[Relation::Equal];
        if !equation || !first.has_variable() || last.has_variable() {
            return Ok(None);
        }
        let (first, value) = (self.algebra.normalise(first)?, self.algebra.normalise(last)?);
        let equal = self.algebra.equal(&first, &value)?;
        Ok(equal.then(|| last.clone().into()))
    }

    /// Returns true if the other side is the decimal behind `≈`, and the exact value rounds to it.
    fn rounds(&mut self, exact: &Node, rounded: &Node, other: &Node) -> Result<bool> {
        let (Node::Value { expression, .. }, Node::Value { .. }) = (rounded, other) else {
            return Ok(false);
        };
        let places = expression.literal().and_then(|decimal| places(&decimal));
        let Some(places) = places else { return Ok(false) };
        let (exact, decimal) = (std::slice::from_ref(exact), std::slice::from_ref(rounded));
        let half = super::last_place(places) / Rational::from(2);
        Ok(self.compare(rounded, other)?.0 && self.rounds_to(exact, decimal, &half))
    }
}

/// Returns the number of decimal places of a number, up to ten.
fn places(decimal: &Rational) -> Option<u32> {
    (0..=10).find(|places| (decimal / super::last_place(*places)).is_int())
}
