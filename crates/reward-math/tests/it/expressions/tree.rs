//! Expression trees of the tests.

/// Random number generator with a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.below(usize::try_from(high - low + 1).unwrap_or(1))).unwrap_or(0)
    }

    /// Returns a number between the two, uniform in steps of `2^-53` of the width.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A function of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Sine,
    Cosine,
    Tangent,
    Logarithm,
    Exponential,
    Absolute,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    /// A non-negative integer.
    Number(i64),
    /// A decimal: the value times ten to the power of minus the places.
    Decimal(i64, u32),
    Variable(char),
    Pi,
    Imaginary,
    Sum(Vec<Tree>),
    Negative(Box<Tree>),
    Product(Vec<Tree>),
    Quotient(Box<Tree>, Box<Tree>),
    Power(Box<Tree>, i64),
    Root(Box<Tree>, u32),
    Factorial(i64),
    Binomial(i64, i64),
    Of(Function, Box<Tree>),
}

pub(crate) fn number(value: i64) -> Tree {
    if value < 0 { negative(Tree::Number(-value)) } else { Tree::Number(value) }
}

pub(crate) fn negative(inner: Tree) -> Tree {
    Tree::Negative(Box::new(inner))
}

pub(crate) fn quotient(top: Tree, bottom: Tree) -> Tree {
    Tree::Quotient(Box::new(top), Box::new(bottom))
}

pub(crate) fn power(base: Tree, exponent: i64) -> Tree {
    Tree::Power(Box::new(base), exponent)
}

pub(crate) fn of(function: Function, argument: Tree) -> Tree {
    Tree::Of(function, Box::new(argument))
}

/// Kind of a generated expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rational functions of `x`, `y` and `a`.
    Rational,
    /// Numbers: fractions, roots, powers, factorials.
    Constant,
    /// Roots, sines, logarithms of positive variables.
    Elementary,
    /// Numbers with `i`.
    Complex,
}

impl Tree {
    pub(crate) fn generated(kind: Kind, depth: usize, random: &mut Random) -> Self {
        if depth == 0 || random.one_in(6) {
            return Self::leaf(kind, random);
        }
        let below = |random: &mut Random| Self::generated(kind, depth - 1, random);
        match random.below(if kind == Kind::Elementary { 11 } else { 9 }) {
            0 | 1 => {
                let count = 2 + random.below(2);
                Self::Sum((0..count).map(|_| below(random)).collect())
            }
            2 => Self::Sum(vec![below(random), negative(below(random))]),
            3 | 4 => {
                let count = 2 + random.below(2);
                Self::Product((0..count).map(|_| below(random)).collect())
            }
            5 => quotient(below(random), below(random)),
            6 => power(below(random), random.within(-1, 3)),
            7 if kind == Kind::Constant => match random.below(4) {
                0 => Self::Factorial(random.within(0, 9)),
                1 => {
                    let n = random.within(2, 12);
                    Self::Binomial(n, random.within(0, n))
                }
                2 => Self::Root(Box::new(Self::Number(random.within(2, 60))), 3),
                _ => Self::Root(Box::new(Self::Number(random.within(2, 200))), 2),
            },
            7 if kind == Kind::Elementary => {
                Self::Root(Box::new(Self::positive(depth - 1, random)), 2)
            }
            9 => {
                let function = [
                    Function::Sine,
                    Function::Cosine,
                    Function::Tangent,
                    Function::Absolute,
                    Function::Exponential,
                ][random.below(5)];
                of(function, Self::angle(random))
            }
            10 => of(Function::Logarithm, Self::positive(depth - 1, random)),
            _ => negative(below(random)),
        }
    }

    fn leaf(kind: Kind, random: &mut Random) -> Self {
        match (kind, random.below(8)) {
            (Kind::Rational | Kind::Elementary, 0..=2) => Self::Variable('x'),
            (Kind::Rational | Kind::Elementary, 3) => Self::Variable('y'),
            (Kind::Rational | Kind::Elementary, 4) => Self::Variable('a'),
            (Kind::Complex, 0..=2) => Self::Imaginary,
            (Kind::Constant | Kind::Elementary, 5) => Self::Pi,
            (_, 6) => {
                let places = 1 + u32::try_from(random.below(2)).unwrap_or(0);
                Self::Decimal(random.within(1, 99), places)
            }
            (Kind::Constant, 7) => Self::Number(random.within(1000, 2_000_000)),
            _ => Self::Number(random.within(1, 12)),
        }
    }

    /// Generates the argument of a sine; multiples of an angle are small.
    fn angle(random: &mut Random) -> Self {
        let (x, y) = (Self::Variable('x'), Self::Variable('y'));
        let multiple = Self::Product(vec![Self::Number(random.within(2, 4)), x.clone()]);
        match random.below(8) {
            0 => multiple,
            1 => Self::Sum(vec![x, y]),
            2 => Self::Sum(vec![x, negative(y)]),
            3 => quotient(x, Self::Number(random.within(2, 5))),
            4 => Self::Sum(vec![x, quotient(Self::Pi, Self::Number(random.within(2, 7)))]),
            5 => Self::Product(vec![x, y]),
            6 => power(x, 2),
            _ => x,
        }
    }

    /// Generates sums and products of numbers and variables: positive if the variables are.
    fn positive(depth: usize, random: &mut Random) -> Self {
        if depth == 0 {
            let leaves =
                [Self::Variable('x'), Self::Variable('y'), Self::Number(2), Self::Number(5)];
            return leaves[random.below(leaves.len())].clone();
        }
        let (a, b) = (Self::positive(depth - 1, random), Self::positive(depth - 1, random));
        match random.below(3) {
            0 => Self::Sum(vec![a, b]),
            1 => Self::Product(vec![a, b]),
            _ => power(a, 2),
        }
    }

    /// Returns the operands.
    pub(crate) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Number(_)
            | Self::Decimal(..)
            | Self::Variable(_)
            | Self::Pi
            | Self::Imaginary
            | Self::Factorial(_)
            | Self::Binomial(..) => Vec::new(),
            Self::Sum(items) | Self::Product(items) => items.iter().collect(),
            Self::Negative(a) | Self::Power(a, _) | Self::Root(a, _) | Self::Of(_, a) => vec![a],
            Self::Quotient(a, b) => vec![a, b],
        }
    }

    pub(crate) fn any(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        holds(self) || self.children().into_iter().any(|child| child.any(holds))
    }

    pub(crate) fn size(&self) -> usize {
        1 + self.children().into_iter().map(Self::size).sum::<usize>()
    }

    /// Returns the tree with node number `at` changed, counted from the root in pre-order.
    pub(crate) fn changed_at(&self, at: &mut usize, change: &mut dyn FnMut(&Self) -> Self) -> Self {
        if *at == 0 {
            *at = usize::MAX;
            return change(self);
        }
        *at = at.wrapping_sub(1);
        let mut one = |inner: &Self| Box::new(inner.changed_at(at, change));
        match self {
            Self::Sum(items) => Self::Sum(items.iter().map(|item| *one(item)).collect()),
            Self::Product(items) => Self::Product(items.iter().map(|item| *one(item)).collect()),
            Self::Negative(a) => Self::Negative(one(a)),
            Self::Power(a, exponent) => Self::Power(one(a), *exponent),
            Self::Root(a, index) => Self::Root(one(a), *index),
            Self::Of(function, a) => Self::Of(*function, one(a)),
            Self::Quotient(a, b) => {
                let top = one(a);
                Self::Quotient(top, one(b))
            }
            leaf => leaf.clone(),
        }
    }

    /// Returns the tree with one number, name, sign, function or operation changed.
    pub(crate) fn perturbed(&self, random: &mut Random) -> Self {
        let mut node_number = random.below(self.size());
        let choice = random.next();
        self.changed_at(&mut node_number, &mut |node| match node {
            Self::Number(value) => Self::Number(value + 1),
            Self::Decimal(value, places) => Self::Decimal(value + 1, *places),
            Self::Variable('x') => Self::Variable('y'),
            Self::Variable(_) => Self::Variable('x'),
            Self::Pi => Self::Number(3),
            Self::Imaginary => negative(Self::Imaginary),
            Self::Factorial(n) => Self::Factorial(n + 1),
            Self::Binomial(n, k) => Self::Binomial(n + 1, *k),
            Self::Sum(items) if choice.is_multiple_of(2) => Self::Product(items.clone()),
            Self::Sum(items) => {
                let mut items = items.clone();
                items[0] = negative(items[0].clone());
                Self::Sum(items)
            }
            Self::Product(items) => {
                let (first, rest) = items.split_first().expect("a product has factors");
                let mut rest = rest.to_vec();
                rest.push(Self::Number(2));
                if choice.is_multiple_of(2) { Self::Product(rest) } else { first.clone() }
            }
            Self::Negative(inner) => (**inner).clone(),
            Self::Quotient(a, b) => Self::Quotient(b.clone(), a.clone()),
            Self::Power(base, exponent) => Self::Power(base.clone(), exponent + 1),
            Self::Root(inner, index) => Self::Root(inner.clone(), 5 - index),
            Self::Of(Function::Sine, a) => Self::Of(Function::Cosine, a.clone()),
            Self::Of(_, a) => Self::Of(Function::Sine, a.clone()),
        })
    }
}
