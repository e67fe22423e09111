//! Parts of the real line: unions, intersections and differences of intervals, points and inequalities.

use std::cmp::Ordering;

use super::difference::{Difference, is_equation};
use super::{Comparison, Result};
use crate::answer::{Combination, Node, Relation};
use crate::expression::Expression;
use crate::numeric;
use crate::verdict::{ParseError, Rung};

/// Most boundaries of a region.
const MAX_CUTS: usize = 128;

/// A part of the real line, as ascending boundaries at which it begins and ends in turn; it begins outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    cuts: Vec<Cut>,
    variable: Option<String>,
}

/// A boundary just before or just after a value, which may be infinite.
#[derive(Debug, Clone)]
struct Cut {
    value: Expression,
    after: bool,
}

impl Cut {
    fn lowest() -> Self {
        Self { value: -Expression::symbol("\\infty"), after: false }
    }

    fn highest() -> Self {
        Self { value: Expression::symbol("\\infty"), after: true }
    }

    fn in_words(&self) -> String {
        let place = if self.after { "behind" } else { "before" };
        match infinite(&self.value) {
            Ordering::Less => "no lower end".to_owned(),
            Ordering::Equal => format!("an end {place} a number"),
            Ordering::Greater => "no upper end".to_owned(),
        }
    }
}

/// Returns `Less` for `-\infty`, `Greater` for `\infty`, and `Equal` for a number.
fn infinite(value: &Expression) -> Ordering {
    match value {
        Expression::Negative(inner) if inner.is_symbol("\\infty") => Ordering::Less,
        value if value.is_symbol("\\infty") => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// A region or an error; `None` for no part of the line, one of another line, or one whose ends cannot be ordered.
pub(super) type Part<T = Region> = std::result::Result<T, Option<ParseError>>;

/// Returns `None` for an answer without a region.
fn known<T>(part: Part<T>) -> Result<Option<T>> {
    part.map(Some).or_else(|why| why.map_or(Ok(None), Err))
}

impl Region {
    pub(super) fn line() -> Self {
        Self::between(Cut::lowest(), Cut::highest())
    }

    fn between(low: Cut, high: Cut) -> Self {
        Self { cuts: vec![low, high], variable: None }
    }

    /// Returns all numbers in this relation to the value.
    pub(super) fn related(relation: Relation, value: &Expression) -> Part {
        let holds = |order| relation.holds(order).ok_or(None);
        let (below, here) = (holds(Ordering::Less)?, holds(Ordering::Equal)?);
        let above = holds(Ordering::Greater)?;
        let cut = |after| Cut { value: value.clone(), after };
        let cuts = [
            (below, Cut::lowest()),
            (below != here, cut(false)),
            (here != above, cut(true)),
            (above, Cut::highest()),
        ];
        let cuts = cuts.into_iter().filter_map(|(changes, cut)| changes.then_some(cut)).collect();
        Ok(Self { cuts, variable: None })
    }

    pub(super) fn of(self, variable: &str) -> Self {
        Self { variable: Some(variable.to_owned()), ..self }
    }
}

impl Comparison {
    /// Returns true if two answers describe the same part of the line; `None` if one of them describes none.
    pub(super) fn same_region(&mut self, left: &Node, right: &Node) -> Result<Option<bool>> {
        known(self.are_same(left, right))
    }

    fn are_same(&mut self, left: &Node, right: &Node) -> Part<bool> {
        let equations = is_equation(left) && is_equation(right);
        // `x^2 - 5x + 6 = 0` is solved by 2 and 3, and leaves that to the reader.
        let unsolved = |node: &Node| {
            is_equation(node)
                && !matches!(node, Node::Chain { sides, .. } if sides.iter().any(|side| side.symbol().is_some()))
        };
        let is_list = |node: &Node| matches!(node, Node::List { open: '{', .. });
        if is_list(left) && unsolved(right) || is_list(right) && unsolved(left) {
            return Err(None);
        }
        let (left, right) = (self.region(left)?, self.region(right)?);
        if let (Some(a), Some(b)) = (&left.variable, &right.variable)
            && a != b
        {
            self.difference = None;
            return Ok(false);
        }
        // `x^2 = -1` and `x^2 = -4` have no real solution, and say different things.
        if left.cuts.is_empty() && right.cuts.is_empty() && equations {
            return Err(None);
        }
        if left.cuts.len() != right.cuts.len() {
            let ends = |region: &Region| format!("a region with {} ends", region.cuts.len());
            self.shapes(Rung::Region, ends(&left), ends(&right))?;
            return Ok(false);
        }
        for (a, b) in left.cuts.iter().zip(&right.cuts) {
            if self.order(a, b)? != Ordering::Equal {
                let difference = match self.apart(&a.value, &b.value) {
                    Some(apart) => Difference::Apart(Box::new(apart)),
                    None => Difference::Shapes(a.in_words(), b.in_words()),
                };
                self.difference = Some(difference);
                return Ok(false);
            }
        }
        self.difference = None;
        Ok(true)
    }

    /// Returns the part of the line that an answer describes.
    fn region(&mut self, node: &Node) -> Part {
        self.algebra.spend(4)?;
        match node {
            Node::Joined(combination, parts) => self.fold(parts, *combination),
            Node::List { open: '{', items, .. } => {
                items.iter().try_fold(Region::default(), |set, item| {
                    let value = item.plain().ok_or(None)?;
                    let point = Region::related(Relation::Equal, value)?;
                    self.combine(&set, &point, Combination::Union)
                })
            }
            Node::List { open: ' ', items, .. } if !items.iter().all(Node::is_chain) => Err(None),
            // "or"
            Node::List { open: ' ', close: '|', items } => self.fold(items, Combination::Union),
            Node::List { open: ' ', items, .. } => self.stated(items),
            Node::Builder { head, conditions } => self.built(head, conditions),
            Node::List { open, close, items } => self.interval(*open, *close, items),
            Node::Chain { sides, relations } => self.solve(sides, relations),
            Node::Words(words) if words == "all reals" => Ok(Region::line()),
            Node::Words(words) if super::is_nothing(words) => Ok(Region::default()),
            node if node.symbol() == Some("\\mathbb R") => Ok(Region::line()),
            _ => Err(None),
        }
    }

    /// Returns the region of a list of statements.
    ///
    /// It is their union. It is their intersection if one statement excludes a point or the union is the whole line.
    fn stated(&mut self, items: &[Node]) -> Part {
        let takes_out = |item: &Node| matches!(item, Node::Chain { relations, .. } if relations.contains(&Relation::NotEqual));
        if !items.iter().any(takes_out) {
            let union = self.fold(items, Combination::Union)?;
            let ends = union.cuts.iter().map(|cut| infinite(&cut.value));
            if !ends.eq([Ordering::Less, Ordering::Greater]) {
                return Ok(union);
            }
        }
        self.fold(items, Combination::Intersection)
    }

    /// Returns the members of `\{x \mid …\}`, if they are real numbers.
    fn built(&mut self, head: &Node, conditions: &[Node]) -> Part {
        let name = head.symbol().ok_or(None)?;
        let (domains, stated): (Vec<Node>, Vec<Node>) =
            conditions.iter().cloned().partition(|condition| condition.membership().is_some());
        let mut region = match stated.as_slice() {
            [] => Region::line(),
            [only] => self.region(only)?,
            several => self.stated(several)?,
        };
        for domain in &domains {
            let domain = self.region(domain)?;
            region = self.combine(&region, &domain, Combination::Intersection)?;
        }
        // The name is bound: it has no meaning outside.
        match region.variable.take() {
            Some(variable) if variable != name => Err(None),
            _ => Ok(region),
        }
    }

    /// Returns `\{n \in \mathbb{Z} \mid \dots\}` by its members, if they are a few.
    pub(super) fn by_members(&mut self, node: &Node) -> Result<Option<Node>> {
        const MOST: i64 = 64;
        let Node::Builder { head, conditions } = node else { return Ok(None) };
        let of_integers = |condition: &Node| {
            condition.membership().is_some_and(|(_, set)| set.symbol() == Some("\\mathbb Z"))
        };
        let (domains, stated): (Vec<Node>, Vec<Node>) =
            conditions.iter().cloned().partition(of_integers);
        if domains.is_empty() || stated.is_empty() {
            return Ok(None);
        }
        let Some(region) = known(self.built(head, &stated))? else { return Ok(None) };
        let mut items = Vec::new();
        for part in region.cuts.chunks_exact(2) {
            let [low, high] = [&part[0], &part[1]].map(|cut| self.last_integer(cut));
            let (Some(low), Some(high)) = (low, high) else { return Ok(None) };
            if high.saturating_sub(low) > MOST {
                return Ok(None);
            }
            items.extend((low..=high).skip(1).map(|value| Expression::integer(value).into()));
        }
        Ok(Some(Node::List { open: '{', close: '}', items }))
    }

    /// Returns the last integer at or below a boundary.
    fn last_integer(&mut self, cut: &Cut) -> Option<i64> {
        const LARGEST: i64 = 64;
        if let Some(value) = self.algebra.normalise(&cut.value).ok()?.as_constant() {
            let floor = value.floor();
            return i64::try_from(if cut.after || !value.is_int() { floor } else { floor - 1 })
                .ok();
        }
        let below = (-LARGEST..=LARGEST).take_while(|count| {
            let count = Expression::integer(*count);
            numeric::order(&count, &cut.value, &mut self.enclosure_fuel) == Some(Ordering::Less)
        });
        below.last().filter(|last| *last < LARGEST)
    }

    fn fold(&mut self, parts: &[Node], combination: Combination) -> Part {
        let regions = parts.iter().map(|part| self.region(part)).collect::<Part<Vec<Region>>>();
        let mut regions = regions?.into_iter();
        let first = regions.next().ok_or(None)?;
        regions.try_fold(first, |result, region| self.combine(&result, &region, combination))
    }

    fn interval(&mut self, open: char, close: char, items: &[Node]) -> Part {
        let [low, high] = items else { return Err(None) };
        let (low, high) = low.plain().zip(high.plain()).ok_or(None)?;
        let (low_end, high_end) = (infinite(low), infinite(high));
        // No interval is closed at infinity.
        if open == '[' && low_end.is_ne() || close == ']' && high_end.is_ne() {
            return Err(None);
        }
        let low = Cut { after: open == '(' && low_end.is_eq(), value: low.clone() };
        let high = Cut { after: close == ']' || high_end.is_gt(), value: high.clone() };
        match self.order(&low, &high)? {
            Ordering::Less => Ok(Region::between(low, high)),
            _ => Err(None),
        }
    }

    /// Returns the numbers that a chain of inequalities in one variable allows.
    fn solve(&mut self, sides: &[Node], relations: &[Relation]) -> Part {
        if let ([name, set], [Relation::In]) = (sides, relations) {
            let name = name.symbol().ok_or(None)?;
            return Ok(self.region(set)?.of(name));
        }
        let mut steps = sides.windows(2).zip(relations);
        steps.try_fold(Region::line(), |region, (pair, relation)| {
            let part = self.inequality(&pair[0], *relation, &pair[1])?;
            self.combine(&region, &part, Combination::Intersection)
        })
    }

    pub(super) fn combine(&mut self, left: &Region, right: &Region, by: Combination) -> Part {
        let variable = match (&left.variable, &right.variable) {
            (Some(a), Some(b)) if a != b => return Err(None),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        if left.cuts.len() + right.cuts.len() > MAX_CUTS {
            return Err(None);
        }
        let holds = |in_left: bool, in_right: bool| match by {
            Combination::Union => in_left || in_right,
            Combination::Intersection => in_left && in_right,
            Combination::Difference => in_left && !in_right,
        };
        let (mut at_left, mut at_right) = (0, 0);
        let mut cuts = Vec::new();
        let mut inside = false;
        while at_left < left.cuts.len() || at_right < right.cuts.len() {
            let (order, cut) = match (left.cuts.get(at_left), right.cuts.get(at_right)) {
                (Some(a), Some(b)) => {
                    let order = self.order(a, b)?;
                    (order, if order == Ordering::Greater { b } else { a })
                }
                (Some(a), None) => (Ordering::Less, a),
                (None, Some(b)) => (Ordering::Greater, b),
                (None, None) => break,
            };
            at_left += usize::from(order != Ordering::Greater);
            at_right += usize::from(order != Ordering::Less);
            let now = holds(at_left % 2 == 1, at_right % 2 == 1);
            if now != inside {
                cuts.push(cut.clone());
                inside = now;
            }
        }
        Ok(Region { cuts, variable })
    }

    fn order(&mut self, a: &Cut, b: &Cut) -> Part<Ordering> {
        let by_value = match (infinite(&a.value), infinite(&b.value)) {
            (Ordering::Equal, Ordering::Equal) => {
                if a.value == b.value || self.expressions(&a.value, &b.value)?.0 {
                    Ordering::Equal
                } else {
                    let order = numeric::order(&a.value, &b.value, &mut self.enclosure_fuel);
                    order.ok_or(None)?
                }
            }
            (a_end, b_end) => a_end.cmp(&b_end),
        };
        Ok(by_value.then(a.after.cmp(&b.after)))
    }

    /// Returns true if a constant is proven to be positive.
    pub(super) fn is_positive(&mut self, value: &Expression) -> bool {
        numeric::order(&Expression::integer(0), value, &mut self.enclosure_fuel)
            == Some(Ordering::Less)
    }
}
