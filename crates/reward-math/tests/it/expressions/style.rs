//! Spellings of one expression, as people and models write it.

use super::tree::{Function, Random, Tree};

/// Choices of a spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    fraction: usize,
    times: usize,
    power: usize,
    root: usize,
    brackets: usize,
    function: usize,
    space: usize,
    pi: usize,
    grouping: usize,
    minus: usize,
    wrapping: usize,
}

impl Style {
    pub(crate) fn random(random: &mut Random) -> Self {
        let mut pick = |count: usize| random.below(count);
        Self {
            fraction: pick(7),
            times: pick(7),
            power: pick(4),
            root: pick(6),
            brackets: pick(5),
            function: pick(4),
            space: pick(5),
            pi: pick(3),
            grouping: pick(5),
            minus: pick(3),
            wrapping: pick(11),
        }
    }

    /// Returns the complete answer: the expression with the usual text around it.
    pub(crate) fn whole(self, tree: &Tree) -> String {
        self.wrapped(&self.text(tree))
    }

    pub(crate) fn wrapped(self, text: &str) -> String {
        match self.wrapping {
            1 => format!("${text}$"),
            2 => format!("\\({text}\\)"),
            3 => format!("\\[{text}\\]"),
            4 => format!("$${text}$$"),
            5 => format!("\\displaystyle {text}"),
            6 => format!("{{{text}}}"),
            7 => format!(" {text} "),
            8 => format!("${text}$."),
            9 => format!("\\boxed{{{text}}}"),
            _ => text.to_owned(),
        }
    }

    /// Returns the expression as a part of another.
    pub(crate) fn text(self, tree: &Tree) -> String {
        match tree {
            Tree::Sum(items) => {
                let mut text = String::new();
                for item in items {
                    match item {
                        Tree::Negative(inner) => {
                            text += &[self.space(), self.minus(), self.space()].concat();
                            text += &self.term(inner);
                        }
                        item if text.is_empty() => text += &self.term(item),
                        item => {
                            text += &[self.space(), "+", self.space()].concat();
                            text += &self.term(item);
                        }
                    }
                }
                text
            }
            Tree::Negative(inner) => format!("{}{}", self.minus(), self.term(inner)),
            other => self.term(other),
        }
    }

    fn space(self) -> &'static str {
        ["", " ", "\\,", "", "\\;"][self.space]
    }

    fn minus(self) -> &'static str {
        ["-", "-", "−"][self.minus]
    }

    fn in_brackets(self, text: &str) -> String {
        match self.brackets {
            1 => format!("\\left({text}\\right)"),
            2 => format!("\\bigl({text}\\bigr)"),
            3 => format!("\\left( {text} \\right)"),
            4 => format!("( {text} )"),
            _ => format!("({text})"),
        }
    }

    /// Returns a term of a sum, in brackets if its own signs would join those of the sum.
    fn term(self, tree: &Tree) -> String {
        match tree {
            Tree::Sum(_) | Tree::Negative(_) => self.in_brackets(&self.text(tree)),
            Tree::Product(factors) => self.product(factors),
            Tree::Quotient(top, bottom) => self.quotient(top, bottom),
            other => self.factor(other),
        }
    }

    fn product(self, factors: &[Tree]) -> String {
        let mut text = String::new();
        for (index, factor) in factors.iter().enumerate() {
            let next = match factor {
                // `\frac{a}{b}` needs no brackets in a product, `a/b` does.
                Tree::Quotient(..) if self.fraction >= 4 => self.in_brackets(&self.term(factor)),
                Tree::Quotient(..) => self.term(factor),
                Tree::Sum(_) | Tree::Negative(_) | Tree::Product(_) => {
                    self.in_brackets(&self.text(factor))
                }
                other => self.factor(other),
            };
            if index > 0 {
                text += self.times(&factors[index - 1], factor, &next);
            }
            text += &next;
        }
        text
    }

    fn times(self, before: &Tree, factor: &Tree, next: &str) -> &'static str {
        let sign = ["\\cdot ", "\\times ", "*", "·", "×", " \\cdot ", "*"][self.times];
        let bracketed = next.starts_with(['(', '\\']) && next.contains('(');
        let plain = |tree: &Tree| matches!(tree, Tree::Number(_) | Tree::Decimal(..));
        // Factors without a sign between them, if that is unambiguous: `2x`, `2(x+1)`, `xy`.
        let side_by_side = match (before, factor) {
            (left, Tree::Variable(_)) => plain(left) || matches!(left, Tree::Variable(_)),
            (left, Tree::Sum(_)) => bracketed && (plain(left) || matches!(left, Tree::Sum(_))),
            (left, Tree::Pi | Tree::Root(..)) => plain(left) && self.root < 3 && self.pi != 2,
            _ => false,
        };
        if side_by_side && self.times >= 2 { "" } else { sign }
    }

    fn quotient(self, top: &Tree, bottom: &Tree) -> String {
        let (above, below) = (self.text(top), self.text(bottom));
        let atomic = |tree: &Tree| matches!(tree, Tree::Number(_) | Tree::Variable(_));
        let shielded = |tree: &Tree, text: &str| {
            if atomic(tree) { text.to_owned() } else { self.in_brackets(text) }
        };
        match self.fraction {
            0 => format!("\\frac{{{above}}}{{{below}}}"),
            1 => format!("\\dfrac{{{above}}}{{{below}}}"),
            2 => format!("\\tfrac{{ {above} }}{{ {below} }}"),
            // One digit needs no braces.
            3 => {
                let digit = |text: &str| text.len() == 1 && text.as_bytes()[0].is_ascii_digit();
                match (digit(&above), digit(&below)) {
                    (true, true) => format!("\\frac{above}{below}"),
                    (true, false) => format!("\\frac {above}{{{below}}}"),
                    (false, true) => format!("\\frac{{{above}}}{below}"),
                    (false, false) => format!("\\cfrac{{{above}}}{{{below}}}"),
                }
            }
            4 => format!("{}/{}", shielded(top, &above), shielded(bottom, &below)),
            5 => format!("{} \\div {}", shielded(top, &above), shielded(bottom, &below)),
            _ => format!("{{{above} \\over {below}}}"),
        }
    }

    /// Returns a factor of a product, in brackets if needed.
    fn factor(self, tree: &Tree) -> String {
        match tree {
            Tree::Number(value) => self.grouped(*value),
            Tree::Decimal(value, places) => decimal(*value, *places),
            Tree::Variable(name) => name.to_string(),
            Tree::Pi => ["\\pi ", "π", "pi"][self.pi].to_owned(),
            Tree::Imaginary => "i".to_owned(),
            Tree::Factorial(n) => format!("{n}!"),
            Tree::Binomial(n, k) => match self.root {
                0 => format!("{{{n} \\choose {k}}}"),
                1 => format!("\\dbinom{{{n}}}{{{k}}}"),
                _ => format!("\\binom{{{n}}}{{{k}}}"),
            },
            Tree::Power(base, exponent) => self.power(base, *exponent),
            Tree::Root(inner, index) => self.root(inner, *index),
            Tree::Of(function, argument) => self.of(*function, argument),
            other => self.in_brackets(&self.text(other)),
        }
    }

    fn power(self, base: &Tree, exponent: i64) -> String {
        let plain = matches!(base, Tree::Variable(_) | Tree::Imaginary)
            || matches!(base, Tree::Number(value) if *value < 1000);
        let base = if plain { self.factor(base) } else { self.in_brackets(&self.text(base)) };
        let digits = exponent.to_string();
        let single = digits.len() == 1;
        match self.power {
            1 if single => format!("{base}^{digits}"),
            2 if single => format!("{base}**{digits}"),
            3 => {
                let raised = |c: char| match c {
                    '-' => '⁻',
                    digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']
                        [digit.to_digit(10).unwrap_or(0) as usize],
                };
                base + &digits.chars().map(raised).collect::<String>()
            }
            _ => format!("{base}^{{{digits}}}"),
        }
    }

    fn root(self, inner: &Tree, index: u32) -> String {
        let text = self.text(inner);
        let digit = text.len() == 1 && text.as_bytes()[0].is_ascii_digit();
        match (self.root, index) {
            (1, 2) if digit => format!("\\sqrt{text}"),
            (2, 2) => format!("\\sqrt[2]{{{text}}}"),
            (3, 2) => format!("√({text})"),
            (4, 2) => format!("sqrt({text})"),
            (5, _) => format!("({text})^{{1/{index}}}"),
            (_, 2) => format!("\\sqrt{{{text}}}"),
            _ => format!("\\sqrt[{index}]{{{text}}}"),
        }
    }

    fn of(self, function: Function, argument: &Tree) -> String {
        let text = self.text(argument);
        let name = match function {
            Function::Sine => "sin",
            Function::Cosine => "cos",
            Function::Tangent => "tan",
            Function::Logarithm => "ln",
            Function::Exponential => {
                return match self.function {
                    0 => format!("\\exp({text})"),
                    _ => format!("e^{{{text}}}"),
                };
            }
            Function::Absolute => {
                return match self.function {
                    0 => format!("\\left|{text}\\right|"),
                    1 => format!("\\lvert {text} \\rvert "),
                    _ => format!("abs({text})"),
                };
            }
        };
        match self.function {
            0 => format!("\\{name}({text})"),
            1 => format!("{name}({text})"),
            2 => format!("\\operatorname{{{name}}}({text})"),
            _ => format!("\\{name}\\left({text}\\right)"),
        }
    }

    /// Returns the digits in groups of three.
    fn grouped(self, value: i64) -> String {
        let digits = value.to_string();
        let separator = match self.grouping {
            1 => "{,}",
            2 => "\\,",
            3 => "\\!\\,",
            _ => return digits,
        };
        if self.grouping == 3 || digits.len() < 4 {
            return digits;
        }
        let groups: Vec<&str> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .filter_map(|g| std::str::from_utf8(g).ok())
            .collect();
        groups.join(separator)
    }
}

fn decimal(value: i64, places: u32) -> String {
    let scale = 10_i64.pow(places);
    let places = places as usize;
    format!("{}.{:0places$}", value / scale, value % scale)
}
