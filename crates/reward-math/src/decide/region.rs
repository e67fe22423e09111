//! Parts of the real line: unions, intersections and differences of intervals, points and inequalities.

use std::cmp::Ordering;

use dashu::Rational;

use super::{Comparison, Result};
use crate::answer::{Node, Relation};
use crate::expression::Expression;
use crate::numeric;

/// Most boundaries of a region.
const MAX_CUTS: usize = 128;

/// A part of the real line, as ascending boundaries at which it begins and ends in turn; it begins outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    cuts: Vec<Cut>,
    /// Variable of the region, if any.
    variable: Option<String>,
}

/// A boundary just before or just after a value.
#[derive(Debug, Clone)]
struct Cut {
    value: Bound,
    after: bool,
}

#[derive(Debug, Clone)]
enum Bound {
    Lowest,
    At(Expression),
    Highest,
}

/// Operation that combines two regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combination {
    Union,
    Intersection,
    Difference,
}

impl Region {
    pub(super) fn empty() -> Self {
        Self::default()
    }

    pub(super) fn line() -> Self {
        let cut = |value, after| Cut { value, after };
        Self { cuts: vec![cut(Bound::Lowest, false), cut(Bound::Highest, true)], variable: None }
    }

    fn is_line(&self) -> bool {
        matches!(
            self.cuts.as_slice(),
            [Cut { value: Bound::Lowest, .. }, Cut { value: Bound::Highest, .. }]
        )
    }

    fn between(low: Cut, high: Cut) -> Self {
        Self { cuts: vec![low, high], variable: None }
    }

    fn point(value: &Expression) -> Self {
        let cut = |after| Cut { value: Bound::At(value.clone()), after };
        Self::between(cut(false), cut(true))
    }

    /// Returns all numbers in this relation to the value.
    pub(super) fn related(relation: Relation, value: &Expression) -> Option<Self> {
        let cut = |after| Cut { value: Bound::At(value.clone()), after };
        let (lowest, highest) = (
            Cut { value: Bound::Lowest, after: false },
            Cut { value: Bound::Highest, after: true },
        );
        Some(match relation {
            Relation::Equal => Self::point(value),
            Relation::Less => Self::between(lowest, cut(false)),
            Relation::LessEqual => Self::between(lowest, cut(true)),
            Relation::Greater => Self::between(cut(true), highest),
            Relation::GreaterEqual => Self::between(cut(false), highest),
            Relation::NotEqual => {
                Self { cuts: vec![lowest, cut(false), cut(true), highest], variable: None }
            }
            Relation::In | Relation::Approximately => return None,
        })
    }

    pub(super) fn of(self, variable: &str) -> Self {
        Self { variable: Some(variable.to_owned()), ..self }
    }
}

impl Comparison {
    /// Returns true if two answers describe the same part of the line; `None` if one of them describes none.
    pub(super) fn same_region(&mut self, left: &Node, right: &Node) -> Result<Option<bool>> {
        let (Some(left), Some(right)) = (self.region(left)?, self.region(right)?) else {
            return Ok(None);
        };
        if let (Some(a), Some(b)) = (&left.variable, &right.variable)
            && a != b
        {
            return Ok(Some(false));
        }
        if left.cuts.len() != right.cuts.len() {
            return Ok(Some(false));
        }
        for (a, b) in left.cuts.iter().zip(&right.cuts) {
            match self.order(a, b)? {
                Some(Ordering::Equal) => {}
                Some(_) => return Ok(Some(false)),
                None => return Ok(None),
            }
        }
        Ok(Some(true))
    }

    /// Returns the part of the line that an answer describes, if any.
    fn region(&mut self, node: &Node) -> Result<Option<Region>> {
        self.algebra.spend(4)?;
        match node {
            Node::Union(parts) => self.fold(parts, Combination::Union),
            Node::Intersection(parts) => self.fold(parts, Combination::Intersection),
            Node::Difference(parts) => self.fold(parts, Combination::Difference),
            Node::List { open: '{', items, .. } => {
                let mut set = Region::empty();
                for item in items {
                    let Some(value) = item.plain() else { return Ok(None) };
                    let point = Region::point(value);
                    let Some(union) = self.combine(&set, &point, Combination::Union)? else {
                        return Ok(None);
                    };
                    set = union;
                }
                Ok(Some(set))
            }
            Node::List { open: ' ', items, .. } => {
                let all_chains = items.iter().all(|item| matches!(item, Node::Chain { .. }));
                if all_chains { self.stated(items) } else { Ok(None) }
            }
            Node::Builder { head, conditions } => self.built(head, conditions),
            Node::List { open, close, items } => self.interval(*open, *close, items),
            Node::Chain { sides, relations } => self.solve(sides, relations),
            Node::Words(words) if words == "all reals" => Ok(Some(Region::line())),
            Node::Words(words) if super::is_nothing(words) => Ok(Some(Region::empty())),
            node if node.symbol() == Some("\\mathbb R") => Ok(Some(Region::line())),
            _ => Ok(None),
        }
    }

    /// Returns the region of a list of statements.
    ///
    /// It is their union. It is their intersection if one statement excludes a point or the union is the whole line.
    fn stated(&mut self, items: &[Node]) -> Result<Option<Region>> {
        let takes_out = |item: &Node| matches!(item, Node::Chain { relations, .. } if relations.contains(&Relation::NotEqual));
        if items.iter().any(takes_out) {
            return self.fold(items, Combination::Intersection);
        }
        let union = self.fold(items, Combination::Union)?;
        match union {
            Some(union) if union.is_line() => self.fold(items, Combination::Intersection),
            union => Ok(union),
        }
    }

    /// Returns the members of `\{x \mid …\}`, if they are real numbers.
    fn built(&mut self, head: &Node, conditions: &[Node]) -> Result<Option<Region>> {
        let Some(name) = head.symbol() else { return Ok(None) };
        let (domains, stated): (Vec<Node>, Vec<Node>) = conditions.iter().cloned().partition(
            |condition| matches!(condition, Node::Chain { relations, .. } if relations == &[Relation::In]),
        );
        let mut region = if stated.is_empty() {
            Region::line()
        } else {
            let stated = match stated.as_slice() {
                [only] => self.region(only)?,
                several => self.stated(several)?,
            };
            let Some(region) = stated else { return Ok(None) };
            region
        };
        for domain in &domains {
            let Some(domain) = self.region(domain)? else { return Ok(None) };
            let Some(both) = self.combine(&region, &domain, Combination::Intersection)? else {
                return Ok(None);
            };
            region = both;
        }
        // The name is bound: it has no meaning outside.
        let is_bound = region.variable.as_ref().is_none_or(|variable| variable == name);
        Ok(is_bound.then_some(Region { variable: None, ..region }))
    }

    fn fold(&mut self, parts: &[Node], combination: Combination) -> Result<Option<Region>> {
        let mut regions = Vec::new();
        for part in parts {
            let Some(region) = self.region(part)? else { return Ok(None) };
            regions.push(region);
        }
        let Some((first, rest)) = regions.split_first() else { return Ok(None) };
        let mut result = first.clone();
        for region in rest {
            let Some(combined) = self.combine(&result, region, combination)? else {
                return Ok(None);
            };
            result = combined;
        }
        Ok(Some(result))
    }

    fn interval(&mut self, open: char, close: char, items: &[Node]) -> Result<Option<Region>> {
        let [low, high] = items else { return Ok(None) };
        let (Some(low), Some(high)) = (bound(low), bound(high)) else { return Ok(None) };
        // No interval is closed at infinity.
        if (open == '[' && !matches!(low, Bound::At(_)))
            || (close == ']' && !matches!(high, Bound::At(_)))
        {
            return Ok(None);
        }
        let low = Cut { after: open == '(' && matches!(low, Bound::At(_)), value: low };
        let high = Cut { after: close == ']' || matches!(high, Bound::Highest), value: high };
        match self.order(&low, &high)? {
            Some(Ordering::Less) => Ok(Some(Region::between(low, high))),
            _ => Ok(None),
        }
    }

    /// Returns the numbers that a chain of inequalities in one variable allows.
    fn solve(&mut self, sides: &[Node], relations: &[Relation]) -> Result<Option<Region>> {
        if let ([name, set], [Relation::In]) = (sides, relations) {
            let Some(name) = name.symbol() else { return Ok(None) };
            return Ok(self.region(set)?.map(|region| region.of(name)));
        }
        let mut result: Option<Region> = None;
        for (pair, relation) in sides.windows(2).zip(relations) {
            let Some(part) = self.solve_inequality(&pair[0], *relation, &pair[1])? else {
                return Ok(None);
            };
            result = match result {
                None => Some(part),
                Some(other) => match self.combine(&other, &part, Combination::Intersection)? {
                    Some(both) => Some(both),
                    None => return Ok(None),
                },
            };
        }
        Ok(result)
    }

    /// Combines two regions; `None` if their ends cannot be ordered.
    pub(super) fn combine(
        &mut self,
        left: &Region,
        right: &Region,
        combination: Combination,
    ) -> Result<Option<Region>> {
        let variable = match (&left.variable, &right.variable) {
            (Some(a), Some(b)) if a != b => return Ok(None),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        if left.cuts.len() + right.cuts.len() > MAX_CUTS {
            return Ok(None);
        }
        let holds = |in_left: bool, in_right: bool| match combination {
            Combination::Union => in_left || in_right,
            Combination::Intersection => in_left && in_right,
            Combination::Difference => in_left && !in_right,
        };
        let (mut at_left, mut at_right) = (0, 0);
        let mut cuts = Vec::new();
        let mut inside = false;
        while at_left < left.cuts.len() || at_right < right.cuts.len() {
            let order = match (left.cuts.get(at_left), right.cuts.get(at_right)) {
                (Some(a), Some(b)) => self.order(a, b)?,
                (Some(_), None) => Some(Ordering::Less),
                _ => Some(Ordering::Greater),
            };
            let Some(order) = order else { return Ok(None) };
            let cut = if order == Ordering::Greater {
                right.cuts[at_right].clone()
            } else {
                left.cuts[at_left].clone()
            };
            at_left += usize::from(order != Ordering::Greater);
            at_right += usize::from(order != Ordering::Less);
            let now = holds(at_left % 2 == 1, at_right % 2 == 1);
            if now != inside {
                cuts.push(cut);
                inside = now;
            }
        }
        Ok(Some(Region { cuts, variable }))
    }

    fn order(&mut self, a: &Cut, b: &Cut) -> Result<Option<Ordering>> {
        let by_value = match (&a.value, &b.value) {
            (Bound::Lowest, Bound::Lowest) | (Bound::Highest, Bound::Highest) => {
                return Ok(Some(Ordering::Equal));
            }
            (Bound::Lowest, _) | (_, Bound::Highest) => Some(Ordering::Less),
            (_, Bound::Lowest) | (Bound::Highest, _) => Some(Ordering::Greater),
            (Bound::At(a), Bound::At(b)) => self.order_values(a, b)?,
        };
        Ok(by_value.map(|order| order.then(a.after.cmp(&b.after))))
    }

    /// Returns true if a constant is proven to be positive.
    pub(super) fn is_positive(&mut self, value: &Expression) -> bool {
        let zero = Expression::Number(Rational::ZERO);
        numeric::order(&zero, value, &mut self.enclosure_fuel) == Some(Ordering::Less)
    }

    fn order_values(&mut self, a: &Expression, b: &Expression) -> Result<Option<Ordering>> {
        if a == b || self.expressions(a, b)?.0 {
            return Ok(Some(Ordering::Equal));
        }
        Ok(numeric::order(a, b, &mut self.enclosure_fuel))
    }
}

fn bound(node: &Node) -> Option<Bound> {
    Some(match node.plain()? {
        expression if expression.is_symbol("\\infty") => Bound::Highest,
        Expression::Negative(inner) if inner.is_symbol("\\infty") => Bound::Lowest,
        other => Bound::At(other.clone()),
    })
}
