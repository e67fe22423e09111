//! Equations, inequalities and labels.

use super::{Comparison, Finding, Result, values::holds_infinity};
use crate::algebra::Fraction;
use crate::answer::{Node, Relation};
use crate::relation;
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
        // y = 2x + 1 and f(x) = 2x + 1: the labels are dropped where they differ in kind.
        if let (Some((a_label, a)), Some((b_label, b))) =
            (relation::labelled(left), relation::labelled(right))
            && relation::same_label(a_label, b_label)
        {
            return Ok((self.compare(a, b)?.0, Rung::Relation));
        }
        // `x = y = 2` and `(x, y) = (2, 2)`.
        for (chain, other) in [(left, right), (right, left)] {
            if let (Some(items), Some((Node::List { .. }, value))) =
                (relation::shared(chain), relation::labelled(other))
            {
                let list = Node::List { open: ' ', close: ' ', items };
                return Ok((self.compare(&list, value)?.0, Rung::Relation));
            }
        }
        Ok((false, Rung::Relation))
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
            return Ok(false);
        };
        let (Some(p), Some(q)) = (self.difference(&a[0], &a[1])?, self.difference(&b[0], &b[1])?)
        else {
            return Ok(false);
        };
        relation::proportional(&mut self.algebra, (&p, *a_relation), (&q, *b_relation))
    }

    fn difference(&mut self, left: &Node, right: &Node) -> Result<Option<Fraction>> {
        let (
            Node::Value { expression: a, plus: a_plus, .. },
            Node::Value { expression: b, plus: b_plus, .. },
        ) = (left, right)
        else {
            return Ok(None);
        };
        if holds_infinity(a) || holds_infinity(b) {
            return Ok(None);
        }
        let first = self.algebra.normalise(a, *a_plus)?;
        let second = self.algebra.normalise(b, *b_plus)?;
        self.algebra.subtract(&first, &second).map(Some)
    }

    /// A chain against something that is none: its value behind the label, or its interval.
    pub(super) fn chain_with(&mut self, chain: &Node, other: &Node) -> Result<Finding> {
        // `x = y = 2` against the values of both.
        if matches!(other, Node::List { .. })
            && let Some(items) = relation::shared(chain)
        {
            return self.compare(&Node::List { open: ' ', close: ' ', items }, other);
        }
        if let Some((_, value)) = relation::labelled(chain) {
            return Ok((self.compare(value, other)?.0, Rung::Relation));
        }
        let Node::Chain { sides, relations } = chain else { return Ok((false, Rung::Kind)) };
        // `x = 2 + 3 = 5`
        let skipped = usize::from(sides.len() > 2 && relation::is_plain_label(&sides[0]));
        let (sides, relations) = (&sides[skipped..], &relations[skipped..]);
        let equal =
            |relation: &Relation| matches!(relation, Relation::Equal | Relation::Approximately);
        if !relations.iter().all(equal) || !matches!(other, Node::Value { .. }) {
            return Ok((false, Rung::Kind));
        }
        // "1 + 1 = 2": a true statement about constants ends in its value; "5 = 5" calculates nothing.
        let literal = |side: &Node| matches!(side, Node::Value { expression, .. } if expression.literal().is_some());
        if sides.iter().all(literal) && !relations.contains(&Relation::Approximately) {
            return Ok((false, Rung::Relation));
        }
        let constants = sides.iter().all(
            |side| matches!(side, Node::Value { expression, .. } if !expression.has_variable()),
        );
        if !constants {
            return Ok((false, Rung::Kind));
        }
        let mut last = &sides[0];
        for (pair, relation) in sides.windows(2).zip(relations) {
            if *relation == Relation::Approximately {
                break;
            }
            if !self.compare(&pair[0], &pair[1])?.0 {
                return Ok((false, Rung::Relation));
            }
            last = &pair[1];
        }
        Ok((self.compare(last, other)?.0, Rung::Relation))
    }
}
