//! Comparison of lists, sets, tuples and matrices.

use std::collections::BTreeSet;

use dashu::Rational;

use super::difference::{Difference, kind};
use super::{Comparison, Finding, Result};
use crate::answer::{Node, Piece};
use crate::expression::Expression;
use crate::normal_form;
use crate::relation::{self, with_label_repeated};
use crate::table::lists;
use crate::verdict::{ParseError, Rung, Side};

impl Comparison {
    /// Compares a vector, as a column or a row, with a tuple of its entries, or a matrix with the lists of its rows.
    pub(super) fn vector(&mut self, rows: &[Vec<Expression>], items: &[Node]) -> Result<Finding> {
        // `[[1, 2], [3, 4]]`
        let round = |item: &Node| match item {
            Node::List { open: '(' | '[', items, .. } => Some(Node::tuple(items.clone())),
            _ => None,
        };
        if let Some(lists) = items.iter().map(round).collect::<Option<Vec<_>>>() {
            return self.ordered(&Node::rows(rows), &lists);
        }
        let column = rows.iter().all(|row| row.len() == 1);
        if !(column || rows.len() == 1) {
            return self.shapes(Rung::Structure, "a matrix", "a vector");
        }
        self.ordered(&Node::entries(rows), items)
    }

    /// Compares sets by the form of their members and by their conditions; the name of a parameter is free.
    pub(super) fn builders(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        let [first, second] = [left, right].map(formed);
        if first.is_some() || second.is_some() {
            return self.builders(first.as_ref().unwrap_or(left), second.as_ref().unwrap_or(right));
        }
        let (Node::Builder { head, conditions }, Node::Builder { head: other, conditions: others }) =
            (left, right)
        else {
            return Ok((false, Rung::Kind));
        };
        let parameter = |conditions: &[Node]| match conditions {
            [only] => only.membership()?.0.symbol().map(str::to_owned),
            _ => None,
        };
        let renamed = |node: &Node| match (parameter(conditions), parameter(others)) {
            (Some(from), Some(to)) if !head.names().contains(&to) => node.renamed(&from, &to),
            _ => node.clone(),
        };
        let conditions: Vec<Node> = conditions.iter().map(renamed).collect();
        let same = self.compare(&renamed(head), other)?.0;
        Ok((same && self.unordered(&conditions, others)?.0, Rung::Structure))
    }

    pub(super) fn lists(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        let (
            Node::List { open: a_open, close: a_close, items: a },
            Node::List { open: b_open, close: b_close, items: b },
        ) = (left, right)
        else {
            return self.shapes(Rung::Kind, kind(left), kind(right));
        };
        let loose = |open: &char| matches!(open, ' ' | '{');
        if loose(a_open) && loose(b_open) {
            // "x = 2 or y = 3" is not "x = 2 and y = 3".
            let apart = |items: &[Node]| {
                relation::named_values(items).is_some_and(|values| values.len() > 1)
            };
            if (*a_close == '|') != (*b_close == '|') && apart(a) && apart(b) {
                return self.shapes(Rung::Structure, "alternatives", "values together");
            }
            // A set ignores how often it names a member, a bare list does not.
            let bare = (a_open, b_open) == (&' ', &' ');
            // `AB = 4, CD = 5` against the bare values.
            let states = |items: &[Node]| items.iter().any(Node::is_chain);
            let tuples = |items: &[Node]| {
                items.iter().all(|item| matches!(item, Node::List { open: '(', .. }))
            };
            let (a, b) = (&*relation::tuples_of_one(a), &*relation::tuples_of_one(b));
            match (relation::points(a), relation::points(b)) {
                (Some(points), None) if tuples(b) => return self.matched(&points, b, bare),
                (None, Some(points)) if tuples(a) => return self.matched(a, &points, bare),
                (Some(points), Some(others)) => return self.unordered(&points, &others),
                _ => {}
            }
            match (relation::values_of_labelled(a), relation::values_of_labelled(b)) {
                (Some(values), None) if !states(b) => return self.matched(&values, b, bare),
                (None, Some(values)) if !states(a) => {
                    return self
                        .turned(|comparison| comparison.labelled_values(b, &values, a, bare));
                }
                // `x_1 = 1, x_2 = 2` and `x = 1, x = 2`: the roots of one equation.
                (Some(values), Some(others)) if relation::roots_of_one(a, b) => {
                    // `5, 5, 2` is not `\lambda = 2 \text{ (multiplicity 2)}, \lambda = 5`.
                    let counts =
                        |node: &Node| node.unit().unwrap_or_default().contains("multiplicity");
                    let one_by_one =
                        values.len() == others.len() || values.iter().chain(&others).any(counts);
                    return self.matched(&values, &others, bare && one_by_one);
                }
                _ => {}
            }
            return self.matched(&with_label_repeated(a), &with_label_repeated(b), bare);
        }
        // Three numbers are no interval.
        let listed = |open: &char| *open == '(' || *open == '[' && a.len() > 2;
        let bare_with_tuple = *a_open == ' ' && listed(b_open) || listed(a_open) && *b_open == ' ';
        // "5 or 6" is no point.
        let alternatives = *a_close == '|' || *b_close == '|';
        if bare_with_tuple && !alternatives {
            return match (relation::named_values(a), relation::named_values(b)) {
                (Some(values), None) => self.ordered(&values, b),
                (None, Some(values)) => self.ordered(a, &values),
                _ => self.ordered(a, b),
            };
        }
        if (a_open, a_close) != (b_open, b_close) {
            let brackets = |(open, close): (&char, &char)| format!("{open} {close}");
            let [a, b] = [(a_open, a_close), (b_open, b_close)].map(brackets);
            return self.shapes(Rung::Structure, a, b);
        }
        self.ordered(a, b)
    }

    /// Compares the values of `a = 1, b = 2` with bare ones, in this order or that of the names; roots `x_1, x_2` in any.
    fn labelled_values(
        &mut self,
        labelled: &[Node],
        values: &[Node],
        others: &[Node],
        repetitions: bool,
    ) -> Result<Finding> {
        if !relation::names_differ(labelled) {
            return self.matched(values, others, repetitions);
        }
        let written = self.ordered(values, others)?;
        match relation::named_values(labelled) {
            Some(named) if !written.0 => self.ordered(&named, others),
            _ => Ok(written),
        }
    }

    pub(super) fn ordered(&mut self, left: &[Node], right: &[Node]) -> Result<Finding> {
        if left.len() != right.len() {
            return self.shapes(Rung::Structure, left.len().to_string(), right.len().to_string());
        }
        let mut pairs = left.iter().zip(right);
        let equal =
            pairs.try_fold(true, |all, (a, b)| Ok::<_, ParseError>(all && self.compare(a, b)?.0));
        Ok((equal?, Rung::Structure))
    }

    /// Returns true if each item of one side has an equal on the other, ignoring repetitions.
    pub(super) fn unordered(&mut self, left: &[Node], right: &[Node]) -> Result<Finding> {
        self.matched(left, right, false)
    }

    /// Matches each item of one side with an equal one on the other; with `repetitions`, one to one.
    ///
    /// This takes at most `n · m` comparisons, all paid for.
    fn matched(&mut self, left: &[Node], right: &[Node], repetitions: bool) -> Result<Finding> {
        // "1, 2, …, n" must be in the order written, and so must truth values.
        let verdict =
            |item: &Node| matches!(item, Node::Words(words) if lists("true false yes no", words));
        let mut all = left.iter().chain(right);
        let ellipsis = |item: &Node| item.symbol() == Some("\\ldots");
        if all.clone().any(ellipsis) || all.all(verdict) {
            return self.ordered(left, right);
        }
        // Lists hold thousands of numbers.
        let all_numbers = numbers(left, repetitions);
        if all_numbers.is_some() && all_numbers == numbers(right, repetitions) {
            return Ok((true, Rung::Structure));
        }
        let (left, right) = if repetitions {
            (left.to_vec(), right.to_vec())
        } else {
            (self.distinct(left)?, self.distinct(right)?)
        };
        // "5 red and 3 blue": the number of each.
        let (nouns, others) = (units(&left), units(&right));
        let one_of = |noun: &&str| others.iter().any(|other| same_noun(noun, other));
        let counted = nouns.len() > 1 && nouns.len() == others.len() && nouns.iter().all(one_of);
        let equal = |comparison: &mut Self, a: &Node, b: &Node| {
            let nouns = a.unit().zip(b.unit());
            let other = counted && nouns.is_some_and(|(a, b)| !same_noun(a, b));
            Ok(!other && comparison.compare(a, b)?.0)
        };
        let lone = |item: &Node, others: Vec<&Node>| Difference::Member {
            side: Side::Response,
            member: item.clone(),
            others: others.into_iter().cloned().collect(),
        };
        self.one_to_one(&left, &right, equal, lone)
    }

    /// Matches each item of one side with another item of the other.
    pub(super) fn one_to_one<T>(
        &mut self,
        left: &[T],
        right: &[T],
        equal: impl Fn(&mut Self, &T, &T) -> Result<bool>,
        lone: impl Fn(&T, Vec<&T>) -> Difference,
    ) -> Result<Finding> {
        if left.len() != right.len() {
            return self.shapes(Rung::Structure, left.len().to_string(), right.len().to_string());
        }
        let mut free: Vec<&T> = right.iter().collect();
        for item in left {
            let mut partner = None;
            for (index, candidate) in free.iter().enumerate() {
                if equal(self, item, candidate)? {
                    partner = Some(index);
                    break;
                }
            }
            let Some(index) = partner else {
                return self.differ(Rung::Structure, lone(item, free));
            };
            free.swap_remove(index);
        }
        Ok((true, Rung::Structure))
    }

    /// Compares values by cases: equal values under equal conditions, in any order.
    pub(super) fn piecewise(&mut self, left: &[Piece], right: &[Piece]) -> Result<Finding> {
        let equal = |comparison: &mut Self, a: &Piece, b: &Piece| {
            let same = match (&a.region, &b.region) {
                _ if a.condition == b.condition => true,
                (Some(first), Some(second)) => comparison.compare(first, second)?.0,
                _ => false,
            };
            Ok(same && comparison.compare(&a.value, &b.value)?.0)
        };
        let lone = |piece: &Piece, _: Vec<&Piece>| {
            let case = normal_form::as_read(&Node::Piecewise(vec![piece.clone()]));
            Difference::Shapes(case, "no such case".to_owned())
        };
        self.one_to_one(left, right, equal, lone)
    }

    pub(super) fn distinct(&mut self, items: &[Node]) -> Result<Vec<Node>> {
        let mut kept: Vec<Node> = Vec::new();
        for item in items {
            let mut others = kept.iter();
            let seen = others.try_fold(false, |seen, other| {
                Ok::<_, ParseError>(seen || self.compare(item, other)?.0)
            });
            if !seen? {
                kept.push(item.clone());
            }
        }
        Ok(kept)
    }
}

/// Returns `\{k^2 : k \in \mathbb{N}\}` for `\{n : n = k^2, k \in \mathbb{N}\}`; `None` if no condition says what the member is.
fn formed(set: &Node) -> Option<Node> {
    const MOST: usize = 8;
    let Node::Builder { head, conditions } = set else { return None };
    let name = head.symbol().filter(|_| conditions.len() <= MOST)?;
    let value = |condition: &Node| {
        let (label, value) = relation::labelled(condition)?;
        let new = *label == **head && value.has_variable() && !value.names().contains(name);
        (new && value.plain().is_some() && !value.is_residue()).then(|| value.clone())
    };
    let (place, value) =
        conditions.iter().enumerate().find_map(|(place, one)| Some((place, value(one)?)))?;
    let mut rest = conditions.clone();
    rest.remove(place);
    let bound = rest.iter().any(|condition| condition.names().contains(name));
    (!bound).then(|| Node::Builder { head: Box::new(value), conditions: rest })
}

/// Returns the numbers of a list in ascending order, if it holds only literals, each once or with its repetitions.
fn numbers(items: &[Node], repetitions: bool) -> Option<Vec<&Rational>> {
    let number = |item| match Node::plain(item)? {
        Expression::Number(value) => Some(value),
        _ => None,
    };
    let mut numbers: Vec<&Rational> = items.iter().map(number).collect::<Option<_>>()?;
    numbers.sort_unstable();
    if !repetitions {
        numbers.dedup();
    }
    Some(numbers)
}

fn units(items: &[Node]) -> BTreeSet<&str> {
    items.iter().filter_map(Node::unit).collect()
}

/// Returns true for "blue" and "blue marble".
fn same_noun(left: &str, right: &str) -> bool {
    let begins = |long: &str, short| {
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    begins(left, right) || begins(right, left)
}
