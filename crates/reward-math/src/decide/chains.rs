//! Equations, inequalities and labels.

use dashu::Rational;

use super::difference::{Difference, chain, is_equation, kind};
use super::inequality::{bounds, bounds_of_member};
use super::triangle::correspondences;
use super::{Comparison, Finding, Result, values::holds_infinity};
use crate::algebra::Fraction;
use crate::answer::{Node, Relation};
use crate::expression::Expression;
use crate::numeric;
use crate::relation::{self, Assertion};
use crate::table::{lists, single};
use crate::verdict::Rung;
use crate::words;

impl Comparison {
    pub(super) fn chains(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        if let Some([pairs, others]) = correspondences(left, right) {
            let same = pairs == others;
            let [pairs, others] = [pairs, others].map(|pairs| format!("{pairs:?}"));
            if same {
                return Ok((true, Rung::Relation));
            }
            return self.shapes(Rung::Relation, pairs, others);
        }
        let [bounds, others] = [left, right].map(bounds_of_member);
        if bounds.is_some() || others.is_some() {
            return self.chains(bounds.as_ref().unwrap_or(left), others.as_ref().unwrap_or(right));
        }
        // `y = f(x)` and `y = g(x)` differ as their values do, unlike residues and families of numbers.
        let alike = solved(left).zip(solved(right)).filter(|(a, b)| a.0 == b.0);
        if let Some(((label, a), (other, b))) = alike {
            return self.behind_labels([label, other], a, b);
        }
        if self.same_relation(left, right)? || self.same_recurrence(left, right)? {
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
        {
            let is_longer = a.len() > b.len();
            if let Some(shorter) = self.shortened(if is_longer { left } else { right })? {
                let (left, right) = if is_longer { (&shorter, right) } else { (left, &shorter) };
                return self.chains(left, right);
            }
        }
        // y = 2x + 1 and f(x) = 2x + 1: the labels are dropped where they differ in kind.
        if let (Some((a_label, a)), Some((b_label, b))) =
            (relation::labelled(left), relation::labelled(right))
            && relation::same_label(a_label, b_label)
        {
            return self.behind_labels([a_label, b_label], a, b);
        }
        if let Some((values, moved)) = with_labels_moved(left, right) {
            return Ok((self.ordered(values, &moved)?.0, Rung::Relation));
        }
        // `x = y = 2` and `(x, y) = (2, 2)`.
        for (chain, other) in [(left, right), (right, left)] {
            if let (Some(list), Some((Node::List { .. }, value))) =
                (relation::shared(chain), relation::labelled(other))
            {
                return Ok((self.compare(&list, value)?.0, Rung::Relation));
            }
        }
        // `8 - 5 = 3` and `x = 3`, `S = \sum_{k=1}^{9} \sqrt k` and `\sum_{k=1}^{9} \sqrt k \approx 19.3`.
        for (chain, other) in [(left, right), (right, left)] {
            if let (Some((_, value)), Some(Assertion { label: None, rounded, .. })) =
                (relation::labelled(chain), relation::asserted(other))
                && (rounded.is_some() || !other.has_variable())
            {
                return self.chain_with(other, value);
            }
        }
        self.estimates(left, right)
    }

    /// Compares the exact values of `\sqrt8 \approx 2.83` and `2\sqrt2 \approx 2.828`; other chains differ.
    fn estimates(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        match relation::asserted(right) {
            Some(Assertion { value, rounded: Some(_), .. })
                if !left.has_variable() && !right.has_variable() =>
            {
                self.chain_with(left, value)
            }
            _ => self.differ(Rung::Relation, Difference::Relations(left.clone(), right.clone())),
        }
    }

    /// Compares the values of two labels; solutions of a differential equation up to the size of a constant.
    fn behind_labels(&mut self, labels: [&Node; 2], a: &Node, b: &Node) -> Result<Finding> {
        let solutions = labels.into_iter().all(is_solution);
        let equal = self.compare(a, b)?.0 || solutions && self.rescaled_solution(a, b)?;
        Ok((equal, Rung::Relation))
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
    pub(super) fn same_relation(&mut self, left: &Node, right: &Node) -> Result<bool> {
        let Some(((a, a_relations), (b, b_relations))) = chain(left).zip(chain(right)) else {
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
        if a_relations == backwards && self.ordered(a, &reversed)?.0 {
            return Ok(true);
        }
        let ([a_relation], [b_relation]) = (a_relations, b_relations) else {
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
        // `y^2 = x^2 + C` and `2x^2 - 2y^2 = C`: a multiple of a free constant is one.
        if (*a_relation, *b_relation) == (Relation::Equal, Relation::Equal)
            && let (Some(a), Some(b)) = (self.free_constant(a), self.free_constant(b))
        {
            return self.one_multiple(&[a.into()], &[b.into()]);
        }
        let (Some(p), Some(q)) = (self.difference(&a[0], &a[1])?, self.difference(&b[0], &b[1])?)
        else {
            return Ok(false);
        };
        // What holds for all values or for numbers says nothing of names.
        if p.numerator.is_zero() && q.numerator.is_zero()
            || !left.has_variable() && !right.has_variable()
        {
            return Ok(false);
        }
        if relation::proportional(&mut self.algebra, (&p, *a_relation), (&q, *b_relation))? {
            return Ok(true);
        }
        let equations = (*a_relation, *b_relation) == (Relation::Equal, Relation::Equal);
        if equations { self.same_equation(a, b) } else { Ok(false) }
    }

    /// Returns what the constant `C` of the equation of a curve equals, but for a factor: `x^2 - y^2` of `y^2 = x^2 + C`.
    fn free_constant(&mut self, sides: &[Node]) -> Option<Expression> {
        let (left, right) = (sides[0].plain()?, sides[1].plain()?);
        if right.is_symbol("C") {
            return Some(left.clone());
        }
        let zero = left.clone() - right.clone();
        let names = zero.variables();
        let constant = single(names.iter().filter(|name| lists("C K", name)));
        let of_curve = |name: &String| Some(name) == constant || lists("x y t", name);
        let constant = constant.filter(|_| names.len() > 2 && names.iter().all(of_curve))?;
        self.slope(&zero, constant).ok()??;
        Some(zero.with(constant, &Expression::integer(0)))
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
            if !self.algebra.equal(&first, &second.scaled(factor))? {
                return Ok(false);
            }
        }
        Ok(multiple.is_some())
    }

    /// Returns true for `y/2 = \sin x \cos x` and `y = \sin 2x`: linear in a variable, and equal once its coefficients are.
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
    pub(super) fn slope(&mut self, side: &Expression, name: &str) -> Result<Option<Expression>> {
        let set = |value| side.with(name, &Expression::integer(value));
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
        // `2 \le a + b < 3` is the range `[2, 3)` of a quantity; bounds of `2x` are no range of `x`.
        if let Some(([low, quantity, high], _)) = self::chain(chain)
            && quantity.names().len() > 1
            && !low.has_variable()
            && !high.has_variable()
            && let Some(range) = bounds(quantity, other)
        {
            return Ok((self.same_relation(chain, &range)?, Rung::Relation));
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
        if let Some(list) = named_as(chain, other) {
            return Ok((self.compare(&list, other)?.0, Rung::Relation));
        }
        if self.isomorphic_to(chain, other)? {
            return Ok((true, Rung::Relation));
        }
        let Some(assertion) = relation::asserted(chain) else {
            return match self.identity(chain)?.or_else(|| relation::bound(chain).cloned()) {
                Some(value) => Ok((self.compare(&value, other)?.0, Rung::Relation)),
                None => self.shapes(Rung::Kind, kind(chain), kind(other)),
            };
        };
        // `24\sqrt3 \approx 41.57\text{ cm}^2`: the exact value has that unit.
        let mut measured_value = assertion.value.clone();
        if let (Node::Value { unit: unit @ None, .. }, Some(Node::Value { unit: of_rounded, .. })) =
            (&mut measured_value, assertion.rounded)
            && !matches!(of_rounded.as_deref(), Some("degree" | "percent"))
        {
            unit.clone_from(of_rounded);
        }
        // `4.2 \times 10^3 \times 100 = 4.2 \times 10^5\text{ J} = 420\text{ kJ}`: the first is in joules.
        let measured = |node: &&Node| node.unit().is_some();
        let others: Vec<&Node> = assertion.members.iter().copied().filter(measured).collect();
        // First, as what the sides before it hold may be too long to evaluate.
        let renamed = relation::in_argument_of(assertion.label, other);
        let equal = self.compare(&measured_value, renamed.as_ref().unwrap_or(other))?.0;
        // A long sum may leave no fuel for what contradicts.
        let sums = "sum prod factorial binomial";
        let is_long = |member: &&Node| member.expression().is_some_and(|side| side.calls(sums));
        let (long, short): (Vec<&Node>, Vec<&Node>) =
            assertion.members.iter().copied().partition(is_long);
        for member in short.iter().chain(long.first()) {
            // A long sum, which is not evaluated, contradicts nothing.
            let alike = |comparison: &mut Self, other: &Node| {
                let before = std::mem::take(&mut comparison.undecided);
                let outcome = comparison.compare(member, other);
                let open = std::mem::replace(&mut comparison.undecided, before)
                    && member.expression().is_some();
                outcome.map_or(true, |(equal, _)| equal || open)
            };
            let mut agrees = assertion.value.is_residue() || alike(self, assertion.value);
            for other in others.iter().filter(|other| !std::ptr::eq(*member, **other)) {
                agrees = agrees
                    || !measured(member) && alike(self, other)
                    || member.unit() == other.unit() && self.rounded_off(member, other);
            }
            agrees = agrees || self.rounded_off(member, assertion.value);
            if !agrees {
                return Ok((false, Rung::Relation));
            }
        }
        let rounded = match assertion.rounded {
            Some(rounded) if !equal => self.rounds(assertion.value, rounded, other)?,
            _ => false,
        };
        // `\frac13 = 0.333`: the exact side counts. `6.4 \times 10^5\text{ N} = 640\text{ kN}`: either unit does.
        let mut exact = !equal && self.in_other_unit(chain, assertion.value, other)?;
        let plain = assertion.value.plain().is_some() && !equal && !rounded;
        for member in short.into_iter().filter(|_| plain) {
            exact = exact
                || self.rounded_off(member, assertion.value) && self.compare(member, other)?.0;
        }
        Ok((equal || rounded || exact, Rung::Relation))
    }

    /// Returns true if the last group of `\mathbb{Z}_4 \times \mathbb{Z}_3 \cong \mathbb{Z}_{12}` is the answer.
    fn isomorphic_to(&mut self, chain: &Node, other: &Node) -> Result<bool> {
        let Some(([.., last], [before @ .., Relation::Congruent])) = self::chain(chain) else {
            return Ok(false);
        };
        let equal = |sign: &Relation| matches!(sign, Relation::Congruent | Relation::Equal);
        Ok(before.iter().all(equal) && self.compare(last, other)?.0)
    }

    /// Returns true if a measure before the value is the same in another unit, and the answer.
    fn in_other_unit(&mut self, chain: &Node, value: &Node, other: &Node) -> Result<bool> {
        let Node::Chain { sides, .. } = chain else { return Ok(false) };
        for side in sides {
            if side.unit().is_some() && self.compare(side, other)?.0 && self.compare(side, value)?.0
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the last side of `\frac{2F_k}{F_k} = 2`, if the side before it equals it whatever the names stand for.
    fn identity(&mut self, chain: &Node) -> Result<Option<Node>> {
        let Some(([.., before, last], relations)) = self::chain(chain) else { return Ok(None) };
        let equations = relations.iter().all(|relation| *relation == Relation::Equal);
        let (Some(before), Some(value), true) = (before.plain(), last.plain(), equations) else {
            return Ok(None);
        };
        if !before.has_variable() || before == value {
            return Ok(None);
        }
        let (before, value) = (self.algebra.normalise(before)?, self.algebra.normalise(value)?);
        Ok(self.algebra.equal(&before, &value)?.then(|| last.clone()))
    }

    /// Returns true if a member of a calculation rounds to the decimal that it is said to equal.
    fn rounded_off(&mut self, member: &Node, value: &Node) -> bool {
        let Some((member, value)) = member.expression().zip(value.expression()) else {
            return false;
        };
        let Some((decimal, unit)) = rounding(value) else { return false };
        let integer = value.literal().is_some_and(|value| value.is_int());
        !integer
            && numeric::is_within(member, &decimal, &super::half(&unit), &mut self.enclosure_fuel)
    }

    /// Returns true if the other side is the decimal behind `≈`, and the exact value rounds to it.
    fn rounds(&mut self, exact: &Node, rounded: &Node, other: &Node) -> Result<bool> {
        let (
            Node::Value { expression, unit },
            Node::Value { .. },
            Node::Value { expression: exact, unit: of_exact },
        ) = (rounded, other, exact)
        else {
            return Ok(false);
        };
        let Some((decimal, last_place)) = rounding(expression) else { return Ok(false) };
        let from = of_exact.as_deref();
        let exact = match unit.as_deref().filter(|unit| from != Some(*unit)) {
            Some("percent") => Expression::integer(100) * exact.clone(),
            Some("degree") => Expression::integer(180) * exact.clone() / Expression::symbol("\\pi"),
            // `500\text{ s} \approx 8\text{ min}`
            Some(unit) => match from.and_then(|from| words::conversion(from, unit)) {
                Some(factor) => Expression::Number(factor) * exact.clone(),
                None => exact.clone(),
            },
            None => exact.clone(),
        };
        Ok(self.compare(rounded, other)?.0
            && numeric::is_within(
                &exact,
                &decimal,
                &super::half(&last_place),
                &mut self.enclosure_fuel,
            ))
    }
}

/// Returns `n = 3, k = 2` of `(n, k) = (3, 2)` against `k = 2, n = 3`, and `(2, 1)` of `(b, a) = (1, 2)` against a point.
fn named_as(chain: &Node, other: &Node) -> Option<Node> {
    match other {
        Node::List { open: ' ', items, .. } => {
            relation::values_of_labelled(items).and_then(|_| relation::by_name(chain))
        }
        Node::List { open: '(', .. } => relation::backwards(chain).map(Node::tuple),
        _ => None,
    }
}

/// Returns a decimal and the place of its last digit: 1.87 and 0.01, `6 \times 10^{-3}` and 0.001, 500 and 100.
fn rounding(expression: &Expression) -> Option<(Rational, Rational)> {
    let ten = Rational::from(10);
    if let Expression::Product(factors) = expression {
        let [mantissa, Expression::Power(base, exponent)] = factors.as_slice() else { return None };
        let mantissa = mantissa.literal().filter(|_| base.literal().as_ref() == Some(&ten))?;
        let exponent = isize::try_from(exponent.as_integer()?).ok()?;
        let scale = EXPONENTS.contains(&exponent).then(|| ten.pow(exponent))?;
        let place = super::last_place(places(&mantissa)?);
        return Some((mantissa * &scale, place * scale));
    }
    let decimal = expression.literal()?;
    let mut place = super::last_place(places(&decimal)?);
    while !decimal.is_zero() && decimal.is_int() && (&decimal / (&place * &ten)).is_int() {
        place *= &ten;
    }
    Some((decimal, place))
}

/// Exponents of ten whose rounding is followed.
const EXPONENTS: std::ops::RangeInclusive<isize> = -60..=60;

/// Returns the number of decimal places of a number, up to ten.
fn places(decimal: &Rational) -> Option<u32> {
    (0..=10).find(|places| (decimal / super::last_place(*places)).is_int())
}

/// Returns the sides of an equation that is solved for a name on its left.
fn solved(node: &Node) -> Option<(&Node, &Node)> {
    let ([label, value], _) = chain(node).filter(|_| is_equation(node))? else { return None };
    let name = label.symbol().filter(|_| !value.is_residue())?;
    (!value.names().contains(name)).then_some((label, value))
}

/// Returns true for `y` or `y(x)`, the solution of a differential equation.
fn is_solution(label: &Node) -> bool {
    let applied = label.expression().and_then(relation::applied);
    label.symbol().or(applied.map(|(name, _)| name)) == Some("y")
}

/// Returns the values of `(a, b) = (2, 3)` and those of `(b, a) = (3, 2)` in the order of the first.
fn with_labels_moved<'a>(left: &'a Node, right: &Node) -> Option<(&'a [Node], Vec<Node>)> {
    let (
        (Node::List { items: labels, .. }, Node::List { items: values, .. }),
        (Node::List { items: others, .. }, Node::List { items: other_values, .. }),
    ) = (relation::labelled(left)?, relation::labelled(right)?)
    else {
        return None;
    };
    if labels.len() != values.len() || others.len() != other_values.len() {
        return None;
    }
    let place = |label| others.iter().position(|other| other == label);
    let moved = labels.iter().map(|label| other_values.get(place(label)?).cloned());
    let moved: Vec<Node> = moved.collect::<Option<_>>()?;
    (moved.len() == other_values.len()).then_some((values, moved))
}
