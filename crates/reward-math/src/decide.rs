//! The ladder of comparisons: spelling, choice, then the readings of both sides against each other.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::algebra::{Algebra, Fraction};
use crate::answer::{Answer, Node, Relation};
use crate::expression::Expression;
use crate::relation;
use crate::verdict::{ParseError, Rung, Side, Verdict};
use crate::words;

type Result<T> = std::result::Result<T, ParseError>;

/// What a comparison found, and on which rung.
pub(crate) type Finding = (bool, Rung);

/// Compares two answers, rung by rung.
pub(crate) fn decide(response: &Answer, gold: &Answer, fuel: u64) -> Verdict {
    if response.spelling == gold.spelling {
        return Verdict::Right { how: Rung::Spelling };
    }
    if let Some(verdict) = choices(response, gold) {
        return verdict;
    }
    let gold_readings = match &gold.readings {
        Ok(readings) => readings,
        Err(why) => return Verdict::Unparsed { which: Side::GroundTruth, why: why.clone() },
    };
    let readings = match &response.readings {
        Ok(readings) => readings,
        Err(why) => return Verdict::Unparsed { which: Side::Response, why: why.clone() },
    };
    let mut comparison = Comparison { algebra: Algebra::new(fuel) };
    let mut outcome = None;
    for gold in gold_readings {
        for response in readings {
            match comparison.compare(response, gold) {
                Ok((true, how)) => return Verdict::Right { how },
                found => outcome = outcome.or(Some(found)),
            }
        }
    }
    match outcome {
        Some(Ok((_, how))) => Verdict::Wrong { how },
        Some(Err(why)) => {
            // The ground truth is at fault only if it cannot be compared with itself.
            let mut own = Comparison { algebra: Algebra::new(fuel) };
            let faulty = gold_readings.iter().any(|gold| own.compare(gold, gold).is_err());
            Verdict::Unparsed {
                which: if faulty { Side::GroundTruth } else { Side::Response },
                why,
            }
        }
        None => Verdict::Wrong { how: Rung::Kind },
    }
}

/// Letters of a multiple choice; decides only where the ground truth is nothing but a letter.
fn choices(response: &Answer, gold: &Answer) -> Option<Verdict> {
    let gold_letter = gold.choice?;
    let bare = gold.spelling.chars().filter(|c| c.is_alphanumeric()).count() == 1
        || gold.spelling.starts_with('\\');
    match response.choice {
        Some(letter) if letter == gold_letter => Some(Verdict::Right { how: Rung::Choice }),
        Some(_) if bare => Some(Verdict::Wrong { how: Rung::Choice }),
        _ => None,
    }
}

/// One comparison with its atoms and its fuel.
pub(crate) struct Comparison {
    pub(crate) algebra: Algebra,
}

impl Comparison {
    pub(crate) fn compare(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        self.algebra.spend(1)?;
        match (left, right) {
            (Node::Value { .. }, Node::Value { .. }) => self.values(left, right),
            (Node::Words(a), Node::Words(b)) => Ok((a == b, Rung::Words)),
            (Node::Ratio(a), Node::Ratio(b)) => self.ratios(a, b),
            (Node::Matrix(a), Node::Matrix(b)) => self.matrices(a, b),
            (Node::Matrix(rows), Node::List { items, open: '(', .. })
            | (Node::List { items, open: '(', .. }, Node::Matrix(rows)) => self.column(rows, items),
            (Node::Union(a), Node::Union(b)) => self.unordered(a, b),
            (Node::List { .. }, Node::List { .. }) => self.lists(left, right),
            (Node::Chain { .. }, Node::Chain { .. }) => self.chains(left, right),
            (chain @ Node::Chain { .. }, other) | (other, chain @ Node::Chain { .. }) => {
                self.chain_with(chain, other)
            }
            _ => self.mixed(left, right),
        }
    }

    /// Sets of words, "no solution" and the empty set, unions of inequalities.
    fn mixed(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        for (a, b) in [(left, right), (right, left)] {
            match (a, b) {
                (Node::Words(words), Node::List { open: '{', items, .. }) if items.is_empty() => {
                    return Ok((
                        words.starts_with("no ") && words.contains("solution"),
                        Rung::Words,
                    ));
                }
                (Node::Words(words), Node::Value { expression: Expression::Symbol(name), .. })
                    if name == "\\mathbb R" =>
                {
                    return Ok((words == "all reals", Rung::Words));
                }
                // "x < 1 or x > 2" and its union of intervals.
                (Node::Union(parts), Node::List { open: ' ', items, .. }) => {
                    let intervals: Option<Vec<Node>> =
                        items.iter().map(relation::interval).collect();
                    if let Some(intervals) = intervals {
                        return self.unordered(parts, &intervals);
                    }
                }
                _ => {}
            }
        }
        Ok((false, Rung::Kind))
    }

    fn values(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        let (
            Node::Value { expression: a, unit: a_unit, percent: a_percent, plus: a_plus },
            Node::Value { expression: b, unit: b_unit, percent: b_percent, plus: b_plus },
        ) = (left, right)
        else {
            return Ok((false, Rung::Kind));
        };
        if let (Some(a), Some(b)) = (a_unit, b_unit)
            && a != b
            && (words::is_measure(a) && words::is_measure(b))
        {
            return Ok((false, Rung::Unit));
        }
        if let (Some(a), Some(b)) = (a.literal(), b.literal()) {
            return Ok((percents(&a, *a_percent, &b, *b_percent), Rung::Number));
        }
        // 90° is π/2 where the other side says no unit and speaks of π.
        let degrees = |unit: &Option<String>| unit.as_deref() == Some("degree");
        let in_radians = |expression: &Expression| {
            expression.any(&|node| matches!(node, Expression::Symbol(name) if name == "\\pi"))
        };
        let convert_a = degrees(a_unit) && b_unit.is_none() && in_radians(b);
        let convert_b = degrees(b_unit) && a_unit.is_none() && in_radians(a);
        if let Some(found) = infinities(a, b) {
            return found.map(|equal| (equal, Rung::NormalForm));
        }
        let mut first = self.algebra.normalise(a, *a_plus)?;
        let mut second = self.algebra.normalise(b, *b_plus)?;
        if convert_a {
            first = self.radians(&first)?;
        }
        if convert_b {
            second = self.radians(&second)?;
        }
        if let (Some(a), Some(b)) = (first.as_constant(), second.as_constant()) {
            return Ok((percents(&a, *a_percent, &b, *b_percent), Rung::Number));
        }
        if a_percent != b_percent {
            let hundredth = BigRational::new(BigInt::from(1), BigInt::from(100));
            let scaled = |value: &Fraction, percent: bool| {
                if percent { value.scaled(&hundredth) } else { value.clone() }
            };
            let exact =
                self.algebra.equal(&scaled(&first, *a_percent), &scaled(&second, *b_percent))?;
            return Ok((exact || self.algebra.equal(&first, &second)?, Rung::NormalForm));
        }
        Ok((self.algebra.equal(&first, &second)?, Rung::NormalForm))
    }

    fn radians(&mut self, degrees: &Fraction) -> Result<Fraction> {
        let pi = self.algebra.normalise(&Expression::Symbol("\\pi".to_owned()), true)?;
        let product = self.algebra.multiply(degrees, &pi)?;
        Ok(product.scaled(&BigRational::new(BigInt::from(1), BigInt::from(180))))
    }

    fn ratios(&mut self, left: &[Expression], right: &[Expression]) -> Result<Finding> {
        if left.len() != right.len() {
            return Ok((false, Rung::Structure));
        }
        // `1:00` is a time of day: no multiple of it is the same.
        let clock = |items: &[Expression]| matches!(items, [_, Expression::Number(minutes), ..] if minutes.numer().bits() > 3 || minutes.numer().sign() == num_bigint::Sign::NoSign);
        if clock(left)
            && clock(right)
            && left[0] != right[0]
            && left.len() == 2
            && left[1] == right[1]
        {
            return Ok((false, Rung::Number));
        }
        let normal = |comparison: &mut Self, items: &[Expression]| {
            items.iter().map(|e| comparison.algebra.normalise(e, true)).collect::<Result<Vec<_>>>()
        };
        let (left, right) = (normal(self, left)?, normal(self, right)?);
        for (a, b) in left.iter().zip(&right).skip(1) {
            let first = self.algebra.multiply(&left[0], b)?;
            let second = self.algebra.multiply(&right[0], a)?;
            if !self.algebra.equal(&first, &second)? {
                return Ok((false, Rung::NormalForm));
            }
        }
        let zero = left[0].numerator.is_zero() || right[0].numerator.is_zero();
        Ok((!zero || left == right, Rung::NormalForm))
    }

    fn matrices(&mut self, left: &[Vec<Expression>], right: &[Vec<Expression>]) -> Result<Finding> {
        let shape = |rows: &[Vec<Expression>]| rows.iter().map(Vec::len).collect::<Vec<_>>();
        if shape(left) != shape(right) {
            return Ok((false, Rung::Structure));
        }
        for (a, b) in left.iter().flatten().zip(right.iter().flatten()) {
            let (a, b) = (self.algebra.normalise(a, true)?, self.algebra.normalise(b, true)?);
            if !self.algebra.equal(&a, &b)? {
                return Ok((false, Rung::Structure));
            }
        }
        Ok((true, Rung::Structure))
    }

    /// A column vector is the tuple of its entries.
    fn column(&mut self, rows: &[Vec<Expression>], items: &[Node]) -> Result<Finding> {
        if rows.len() != items.len() || rows.iter().any(|row| row.len() != 1) {
            return Ok((false, Rung::Structure));
        }
        for (row, item) in rows.iter().zip(items) {
            let entry =
                Node::Value { expression: row[0].clone(), unit: None, percent: false, plus: true };
            if !self.compare(&entry, item)?.0 {
                return Ok((false, Rung::Structure));
            }
        }
        Ok((true, Rung::Structure))
    }

    fn lists(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        let (
            Node::List { open: a_open, close: a_close, items: a },
            Node::List { open: b_open, close: b_close, items: b },
        ) = (left, right)
        else {
            return Ok((false, Rung::Kind));
        };
        let loose = |open: &char| matches!(open, ' ' | '{');
        if loose(a_open) && loose(b_open) {
            // A set forgets repetitions, a list of answers does not contain any.
            return self.unordered(a, b);
        }
        let bare_with_tuple = (a_open, b_open) == (&' ', &'(') || (a_open, b_open) == (&'(', &' ');
        if bare_with_tuple {
            let named = |items: &[Node]| relation::named_values(items);
            return match (named(a), named(b)) {
                (Some(values), None) => self.ordered(&values, b),
                (None, Some(values)) => self.ordered(a, &values),
                _ => self.ordered(a, b),
            };
        }
        if (a_open, a_close) != (b_open, b_close) {
            return Ok((false, Rung::Structure));
        }
        self.ordered(a, b)
    }

    fn ordered(&mut self, left: &[Node], right: &[Node]) -> Result<Finding> {
        if left.len() != right.len() {
            return Ok((false, Rung::Structure));
        }
        for (a, b) in left.iter().zip(right) {
            if !self.compare(a, b)?.0 {
                return Ok((false, Rung::Structure));
            }
        }
        Ok((true, Rung::Structure))
    }

    /// Each item of one side has an equal on the other. At most `n · m` comparisons, all paid for.
    fn unordered(&mut self, left: &[Node], right: &[Node]) -> Result<Finding> {
        let (left, right) = (self.distinct(left)?, self.distinct(right)?);
        if left.len() != right.len() {
            return Ok((false, Rung::Structure));
        }
        let mut free: Vec<&Node> = right.iter().collect();
        for item in &left {
            let mut found = None;
            for (index, candidate) in free.iter().enumerate() {
                if self.compare(item, candidate)?.0 {
                    found = Some(index);
                    break;
                }
            }
            let Some(index) = found else { return Ok((false, Rung::Structure)) };
            free.swap_remove(index);
        }
        Ok((true, Rung::Structure))
    }

    fn distinct(&mut self, items: &[Node]) -> Result<Vec<Node>> {
        let mut kept: Vec<Node> = Vec::new();
        for item in items {
            let mut seen = false;
            for other in &kept {
                seen |= self.compare(item, other)?.0;
                if seen {
                    break;
                }
            }
            if !seen {
                kept.push(item.clone());
            }
        }
        Ok(kept)
    }

    fn chains(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        if self.same_relation(left, right)? {
            return Ok((true, Rung::Relation));
        }
        if let (Some(a), Some(b)) = (relation::interval(left), relation::interval(right)) {
            return Ok((
                relation::variable(left) == relation::variable(right) && self.compare(&a, &b)?.0,
                Rung::Relation,
            ));
        }
        // y = 2x + 1 and f(x) = 2x + 1: the labels are dropped where they differ in kind.
        if let (Some((a_label, a)), Some((b_label, b))) =
            (relation::labelled(left), relation::labelled(right))
            && relation::same_label(a_label, b_label)
        {
            return Ok((self.compare(a, b)?.0, Rung::Relation));
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
    fn chain_with(&mut self, chain: &Node, other: &Node) -> Result<Finding> {
        if let Some((_, value)) = relation::labelled(chain) {
            return Ok((self.compare(value, other)?.0, Rung::Relation));
        }
        if matches!(other, Node::List { .. } | Node::Union(_))
            && let Some(interval) = relation::interval(chain)
        {
            return Ok((self.compare(&interval, other)?.0, Rung::Relation));
        }
        // "x > 0 and x < 1" is one interval.
        let Node::Chain { sides, relations } = chain else { return Ok((false, Rung::Kind)) };
        let equal =
            |relation: &Relation| matches!(relation, Relation::Equal | Relation::Approximately);
        if !relations.iter().all(equal) || !matches!(other, Node::Value { .. }) {
            return Ok((false, Rung::Kind));
        }
        // "1 + 1 = 2": a true statement about constants ends in its value.
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

/// Equal as they stand, or with the percent sign read as a hundredth on either side.
fn percents(a: &BigRational, a_percent: bool, b: &BigRational, b_percent: bool) -> bool {
    if a == b {
        return true;
    }
    let hundred = BigRational::from_integer(BigInt::from(100));
    match (a_percent, b_percent) {
        (true, false) => *a == b * hundred,
        (false, true) => a * hundred == *b,
        _ => false,
    }
}

pub(crate) fn holds_infinity(expression: &Expression) -> bool {
    expression.any(&|node| matches!(node, Expression::Symbol(name) if name == "\\infty"))
}

/// `∞` and `-∞` are values, anything calculated from them is not.
fn infinities(a: &Expression, b: &Expression) -> Option<Result<bool>> {
    if !holds_infinity(a) && !holds_infinity(b) {
        return None;
    }
    let sign = |expression: &Expression| match expression {
        Expression::Symbol(_) => Ok(1),
        Expression::Negative(inner) if matches!(**inner, Expression::Symbol(_)) => Ok(-1),
        _ => Err(ParseError::Undefined { what: "arithmetic with infinity".to_owned() }),
    };
    Some(match (holds_infinity(a), holds_infinity(b)) {
        (true, true) => sign(a).and_then(|a| sign(b).map(|b| a == b)),
        (true, false) => sign(a).map(|_| false),
        _ => sign(b).map(|_| false),
    })
}
