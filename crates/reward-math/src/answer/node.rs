//! One reading of an answer: a value, words, or a structure of them.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use crate::expression::Expression;
use crate::table::pattern;

/// One reading of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A number or expression; a percent sign is a unit.
    Value { expression: Expression, unit: Option<String> },
    /// Anything in plain language, normalised.
    Words(String),
    /// Items with the brackets around them; a space if there are none, and `|` behind items joined by "or".
    List { open: char, close: char, items: Vec<Node> },
    /// Sets joined by a sign; also inequalities joined by "and", as an intersection.
    Joined(Combination, Vec<Node>),
    /// Sides joined by relations, one fewer than sides.
    Chain { sides: Vec<Node>, relations: Vec<Relation> },
    /// A matrix by rows.
    Matrix(Vec<Vec<Expression>>),
    /// Values with the conditions under which they hold, as in `cases`.
    Piecewise(Vec<Piece>),
    /// `a:b:c`.
    Ratio(Vec<Expression>),
    /// `\{x \mid x > 2\}`: the form of the members, and their conditions.
    Builder { head: Box<Node>, conditions: Vec<Node> },
}

impl From<Expression> for Node {
    fn from(expression: Expression) -> Self {
        Self::Value { expression, unit: None }
    }
}

/// Operation that joins sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combination {
    Union,
    Intersection,
    /// The first without the others.
    Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Approximately,
    Perpendicular,
    Parallel,
    Similar,
    Congruent,
}

impl Relation {
    /// Signs of each relation, the usual one first.
    const SIGNS: [(Self, &str); 12] = [
        (Self::Equal, r"= == \equiv \triangleq"),
        (Self::NotEqual, r"\ne \neq != \not= \not\equiv"),
        (Self::Less, r"< \lt"),
        (Self::LessEqual, r"\le \leq <= =< \leqslant \leqq \ngtr \not>"),
        (Self::Greater, r"> \gt"),
        (Self::GreaterEqual, r"\ge \geq >= => \geqslant \geqq \nless \not<"),
        (Self::In, r"\in"),
        (Self::Approximately, r"\approx \simeq \thickapprox \doteq"),
        (Self::Perpendicular, r"\perp \bot"),
        (Self::Parallel, r"\parallel"),
        (Self::Similar, r"\sim"),
        (Self::Congruent, r"\cong"),
    ];

    pub(super) fn of(sign: &str) -> Option<Self> {
        static RELATIONS: LazyLock<HashMap<&str, Relation>> = LazyLock::new(|| {
            let signs = Relation::SIGNS.into_iter();
            signs.flat_map(|(relation, all)| all.split(' ').map(move |s| (s, relation))).collect()
        });
        RELATIONS.get(sign).copied()
    }

    /// Returns the usual sign, in LaTeX.
    pub(crate) fn sign(self) -> &'static str {
        let signs = Self::SIGNS.into_iter().find(|(relation, _)| *relation == self);
        signs.and_then(|(_, signs)| signs.split(' ').next()).unwrap_or_default()
    }

    /// Returns true if the relation holds between numbers in this order; `None` for a relation that does not order.
    pub(crate) fn holds(self, order: Ordering) -> Option<bool> {
        Some(match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
            _ => return None,
        })
    }

    /// Returns the relation read from right to left.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }
}

/// One row of `cases`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) value: Node,
    /// Condition as written, without spaces; `None` for "otherwise".
    pub(crate) condition: Option<String>,
    /// Condition parsed, if it is an inequality or equation and no plain language.
    pub(crate) region: Option<Node>,
}

impl Piece {
    /// Returns true for "otherwise" and for a condition that says something of a number.
    pub(crate) fn is_conditional(&self) -> bool {
        let divides = || self.divisor().is_some();
        self.condition.is_none() || self.region.is_some() || divides()
    }

    /// Returns what a condition of integers says in words or by bars: the name, the divisor, and whether it divides.
    pub(crate) fn divisor(&self) -> Option<(&str, u32, bool)> {
        let text = self.condition.as_deref()?;
        if let Some(parts) = pattern!(r"^([1-9][0-9]{0,5})\\(n?mid)([a-z])$").captures(text) {
            let name = parts.get(3)?.as_str();
            return Some((name, parts[1].parse().ok()?, &parts[2] == "mid"));
        }
        let parity = [("even", true), ("odd", false)];
        let (name, even) =
            parity.iter().find_map(|(word, even)| Some((text.strip_suffix(word)?, *even)))?;
        let name = name.trim_end();
        Some((name.strip_suffix("is").unwrap_or(name).trim_end(), 2, even))
    }
}

/// Returns the set of the points `(t, 2t)` for all `t` of a set, and of the integers with `1 < n < 6`.
pub(super) fn all_of(reading: &Node, name: &str, set: &str) -> Option<Node> {
    let member: Node = Expression::symbol(name).into();
    let sides = vec![member.clone(), Expression::symbol(&format!("\\mathbb {set}")).into()];
    let mut conditions = vec![Node::Chain { sides, relations: vec![Relation::In] }];
    let head = match reading {
        Node::List { open: '(', .. } if set.len() == 1 => reading.clone(),
        Node::Chain { sides, .. } if set == "Z" && sides.len() == 3 && sides[1] == member => {
            conditions.push(reading.clone());
            member
        }
        _ => return None,
    };
    Some(Node::Builder { head: Box::new(head), conditions })
}

impl Node {
    pub(crate) fn equation(left: Self, right: Self) -> Self {
        Self::Chain { sides: vec![left, right], relations: vec![Relation::Equal] }
    }

    pub(crate) fn tuple(items: Vec<Self>) -> Self {
        Self::List { open: '(', close: ')', items }
    }

    /// Makes a list without brackets, of anything but statements, one in this order.
    pub(super) fn order(&mut self) {
        if let Self::List { open: open @ ' ', close: close @ ' ', items } = self
            && items.len() > 1
            && !items.iter().any(Self::is_chain)
        {
            (*open, *close) = ('(', ')');
        }
    }

    /// Returns the rows of a matrix as tuples.
    pub(crate) fn rows(rows: &[Vec<Expression>]) -> Vec<Self> {
        rows.iter().map(|row| Self::tuple(row.iter().cloned().map(Self::from).collect())).collect()
    }

    /// Returns the entries of a matrix, row by row.
    pub(crate) fn entries(rows: &[Vec<Expression>]) -> Vec<Self> {
        rows.iter().flatten().cloned().map(Self::from).collect()
    }

    /// Returns a list without brackets.
    pub(crate) fn bare(items: Vec<Self>) -> Self {
        Self::List { open: ' ', close: ' ', items }
    }

    /// Returns the items of a list without brackets; another node as the only item.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List { open: ' ', items, .. } => items,
            other => std::slice::from_ref(other),
        }
    }

    /// Returns the member and the set of `x \in S`.
    pub(crate) fn membership(&self) -> Option<(&Self, &Self)> {
        let Self::Chain { sides, relations } = self else { return None };
        (relations == &[Relation::In]).then(|| (&sides[0], &sides[1]))
    }

    pub(crate) fn is_chain(&self) -> bool {
        matches!(self, Self::Chain { .. })
    }

    /// Returns the name, if the node is a symbol, with a unit or without.
    pub(crate) fn symbol(&self) -> Option<&str> {
        self.expression()?.as_symbol()
    }

    /// Returns true for a residue with its modulus, and for a chain or list that ends in one.
    pub(crate) fn is_residue(&self) -> bool {
        match self {
            Self::Value { expression, .. } => expression.arguments_of("pmod").is_some(),
            Self::Chain { sides: items, .. } | Self::List { open: ' ', items, .. } => {
                items.last().is_some_and(Self::is_residue)
            }
            _ => false,
        }
    }

    /// Returns the expression of a value, with a unit or without.
    pub(crate) fn expression(&self) -> Option<&Expression> {
        if let Self::Value { expression, .. } = self { Some(expression) } else { None }
    }

    /// Returns the expression of a value without unit.
    pub(crate) fn plain(&self) -> Option<&Expression> {
        self.expression().filter(|_| self.unit().is_none())
    }

    pub(crate) fn unit(&self) -> Option<&str> {
        if let Self::Value { unit, .. } = self { unit.as_deref() } else { None }
    }

    /// Returns the variables of all expressions.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let _copy = self.mapped(&mut |expression| {
            names.extend(expression.variables());
            expression.clone()
        });
        names
    }

    pub(crate) fn has_variable(&self) -> bool {
        !self.names().is_empty()
    }

    pub(crate) fn with(&self, variable: &str, value: &Expression) -> Self {
        self.mapped(&mut |expression| expression.with(variable, value))
    }

    pub(crate) fn renamed(&self, from: &str, to: &str) -> Self {
        self.with(from, &Expression::symbol(to))
    }

    /// Returns the node with natural logarithms in place of those without a base, if it has any.
    pub(super) fn with_natural_logarithms(&self) -> Option<Self> {
        let mut any = false;
        let node = self.mapped(&mut |expression| {
            any |= expression.calls("log");
            expression.replaced(&|node| match node.arguments_of("log") {
                Some([inner]) => Some(Expression::function("ln", [inner.clone()])),
                _ => None,
            })
        });
        any.then_some(node)
    }

    pub(crate) fn mapped(&self, with: &mut dyn FnMut(&Expression) -> Expression) -> Self {
        let mut all =
            |nodes: &[Self]| nodes.iter().map(|node| node.mapped(with)).collect::<Vec<_>>();
        match self {
            Self::Value { expression, unit } => {
                Self::Value { expression: with(expression), unit: unit.clone() }
            }
            Self::Words(_) | Self::Piecewise(_) => self.clone(),
            Self::List { open, close, items } => {
                Self::List { open: *open, close: *close, items: all(items) }
            }
            Self::Joined(combination, parts) => Self::Joined(*combination, all(parts)),
            Self::Chain { sides, relations } => {
                Self::Chain { sides: all(sides), relations: relations.clone() }
            }
            Self::Matrix(rows) => {
                Self::Matrix(rows.iter().map(|row| row.iter().map(&mut *with).collect()).collect())
            }
            Self::Ratio(parts) => Self::Ratio(parts.iter().map(with).collect()),
            Self::Builder { head, conditions } => Self::Builder {
                head: Box::new(head.mapped(with)),
                conditions: conditions.iter().map(|node| node.mapped(with)).collect(),
            },
        }
    }
}
