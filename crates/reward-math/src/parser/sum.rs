//! Parser of sums of products of factors.

use dashu::Rational;
use dashu::base::Signed;

use super::function::{function_name, is_fraction, is_greek, starts_primary};
use super::{Parser, Result, dots};
use crate::expression::Expression;
use crate::token::Kind;
use crate::words;

impl Parser {
    /// Parses a sum of signed terms.
    pub(crate) fn sum(&mut self) -> Result<Expression> {
        self.deeper(|parser| {
            let mut terms = Vec::new();
            while let Some(sign) = parser.signs(terms.is_empty()) {
                terms.push(sign.apply(parser.term()?));
            }
            let sum = dots::written_out("sum", &terms).unwrap_or_else(|| Expression::sum(terms));
            // TeX's own fractions: the part of the group before the command is the numerator.
            if parser.eat_command("over") {
                return Ok(sum / parser.sum()?);
            }
            if parser.eat_command("choose") {
                return Ok(Expression::function("binomial", [sum, parser.sum()?]));
            }
            // `10 \bmod 3` and `-1 \mod 2`: the operation of lowest precedence.
            if parser.eat_command("bmod") || !parser.around.congruence && parser.eat_command("mod")
            {
                return Ok(Expression::function("mod", [sum, parser.sum()?]));
            }
            Ok(sum)
        })
    }

    /// Parses the signs before a term; `None` at the end of a sum.
    pub(super) fn signs(&mut self, first: bool) -> Option<Sign> {
        let (mut sign, mut any) = (Sign::Plus, first);
        loop {
            // `\mathbb{R} - \{0\}` removes a set.
            if !any && self.at_symbol('-') && self.command_at(1, "{") {
                return None;
            }
            if self.eat_symbol('+') {
            } else if self.eat_symbol('-') {
                sign = match sign {
                    Sign::Plus => Sign::Minus,
                    Sign::Minus => Sign::Plus,
                    Sign::Either(flipped) => Sign::Either(!flipped),
                };
            } else if self.eat_command("pm") {
                sign = Sign::Either(sign == Sign::Minus);
            } else if self.eat_command("mp") {
                sign = Sign::Either(sign != Sign::Minus);
            } else {
                return any.then_some(sign);
            }
            any = true;
        }
    }

    /// Parses a product of factors, with divisions.
    pub(super) fn term(&mut self) -> Result<Expression> {
        let first = self.factor()?;
        let (mut above, mut below) = (vec![self.with_fraction(first)?], Vec::new());
        let mut signs = 0;
        loop {
            if self.peek().is_some_and(|kind| kind.is_any("*", "cdot times")) {
                let crosses = self.at_command("times");
                self.advance();
                signs += 1;
                let factor = self.signed(Self::factor)?;
                let factor = self.with_fraction(factor)?;
                match above.pop() {
                    Some(left) if crosses && is_vector(&left) && is_vector(&factor) => {
                        above.push(cross_product(left, factor));
                    }
                    // A vector product of columns is not calculated.
                    Some(left) if crosses && is_column(&left) && is_column(&factor) => {
                        above.push(Expression::function("cross", [left, factor]));
                    }
                    left => {
                        above.extend(left);
                        above.push(factor);
                    }
                }
            } else if (self.at_symbol('/') && !self.command_at(1, "{")) || self.at_command("div") {
                let slash = self.at_symbol('/');
                self.advance();
                let factor = self.signed(Self::factor)?;
                below.push(if slash { factor } else { self.with_fraction(factor)? });
            } else if self.starts_factor(above.last()) || signs > 0 && self.at_command("ldots") {
                above.push(self.factor()?);
            } else {
                break;
            }
        }
        let above = dots::written_out("prod", &above).unwrap_or_else(|| Expression::product(above));
        Ok(if below.is_empty() { above } else { above / Expression::product(below) })
    }

    /// Returns true before square brackets or braces that group a calculation: not a pair, nor a number alone.
    fn at_group(&self) -> bool {
        let Some((close, separated)) = self.bracket() else { return false };
        let closes = |kind: &Kind| kind.is_symbol(']') || kind.is_command("}");
        let joined = !self.spaced(0) || self.before().is_some_and(|kind| kind.is_any(")}", ""));
        !separated && joined && close > self.position + 2 && self.kind_at(close).is_some_and(closes)
    }

    /// Parses the fraction of `3 3/4` and `3\frac{3}{4}`, behind an integer: a proper one of integers.
    fn with_fraction(&mut self, factor: Expression) -> Result<Expression> {
        let Expression::Number(integer) = &factor else { return Ok(factor) };
        if !integer.is_int() || !matches!(self.before(), Some(Kind::Number { .. })) {
            return Ok(factor);
        }
        let start = self.position;
        let part = match self.peek() {
            Some(Kind::Command(name)) if is_fraction(name) && !self.at_unit_fraction() => {
                match self.primary()? {
                    Expression::Quotient(top, bottom) => top.literal().zip(bottom.literal()),
                    _ => None,
                }
                .filter(|(top, bottom)| *bottom > Rational::ZERO && !top.is_negative())
                .filter(|_| !self.at_symbol('^') || self.at_degree_mark())
            }
            Some(Kind::Number { value: top, .. }) if self.spaced(0) && self.symbol_at(1, '/') => {
                let bottom = match self.peek_at(2) {
                    Some(Kind::Number { value, .. }) => Some(value),
                    _ => None,
                };
                let bottom =
                    bottom.filter(|bottom| top.is_int() && bottom.is_int() && top < *bottom);
                let parts = bottom.map(|bottom| (top.clone(), bottom.clone()));
                self.position += 3;
                parts
            }
            _ => None,
        };
        let Some((top, bottom)) = part else {
            self.position = start;
            return Ok(factor);
        };
        let value = Expression::Number(integer + top / bottom);
        if !self.at_degree_mark() {
            return Ok(value);
        }
        self.position += 1 + self.degree_mark_length(1, true);
        Ok(Expression::function("degrees", [value]))
    }

    /// Returns true before the `^{-1}` at the end of an answer: no function has an argument there.
    fn at_negative_power(&self, ahead: usize) -> bool {
        let signs = [(0, '^'), (1, '{'), (2, '-'), (4, '}')];
        signs.into_iter().all(|(place, c)| self.symbol_at(ahead + place, c))
            && self.peek_at(ahead + 5).is_none_or(|next| next.is_any(",.;", ""))
    }

    /// Returns true before a quotient of units: `\frac{\text{m}}{\text{s}}`.
    pub(crate) fn at_unit_fraction(&self) -> bool {
        let is_unit = |kind: &Kind| {
            kind.word().is_some_and(|word| function_name(word).is_none() && word != "pi")
        };
        matches!(self.peek(), Some(Kind::Command(name)) if is_fraction(name))
            && self.symbol_at(1, '{')
            && self.peek_at(2).is_some_and(is_unit)
    }

    /// Returns true if a factor follows without a multiplication sign.
    pub(super) fn starts_factor(&self, last: Option<&Expression>) -> bool {
        match self.peek() {
            // Two literals side by side are no product, `2^6 3^5` is.
            Some(Kind::Number { .. }) => !matches!(last, Some(Expression::Number(_)) | None),
            // 20 °C
            Some(Kind::Letter('C' | 'F')) if last.is_some_and(|last| last.is_call("degrees")) => {
                false
            }
            // `17 (mod 20)`
            Some(Kind::Symbol('(')) if self.peek_at(1).is_some_and(Kind::is_modulo) => false,
            Some(Kind::Letter(_) | Kind::Symbol('(' | '{')) => true,
            // `2[3(x + 1) - 4]`, but no interval or mark of a note.
            Some(Kind::Symbol('[')) => self.at_group(),
            Some(Kind::Command(name)) if name == "{" => {
                // `P\{X = 1\}`
                let named = |name: &str| name.starts_with(char::is_uppercase);
                !last.is_some_and(|last| matches!(last, Expression::Symbol(name) if named(name)))
                    && self.at_group()
            }
            Some(Kind::Symbol('|')) => !self.around.bars,
            Some(Kind::Command(name)) if name == "ldots" => {
                !matches!(last, Some(Expression::Number(_)) | None)
            }
            Some(Kind::Command(name)) if name == "langle" => true,
            Some(Kind::Command(name)) if is_fraction(name) => !self.at_unit_fraction(),
            Some(Kind::Command(name)) => {
                starts_primary(name) || function_name(name).is_some() || self.at_matrix()
            }
            Some(Kind::Word(name) | Kind::Text(name)) => {
                // "45 min" and "30 sec" at the end of an answer.
                let is_unit = matches!(name.as_str(), "min" | "sec")
                    && self
                        .peek_at(1)
                        .is_none_or(|next| next.word().is_some() || next.is_any(",.)", ""))
                    || matches!(name.as_str(), "min" | "sec") && self.at_negative_power(1)
                    // "3 min 20 s"
                    || name == "min"
                        && matches!(self.peek_at(1), Some(Kind::Number { .. }))
                        && self.peek_at(2).and_then(Kind::word).is_some_and(words::is_measure);
                !is_unit
                    && (function_name(name).is_some()
                        || is_greek(name)
                        || matches!(name.as_str(), "pi" | "sqrt" | "cbrt"))
            }
            _ => false,
        }
    }
}

/// Returns true for `\vec a` and `-\vec{AB}`.
fn is_vector(factor: &Expression) -> bool {
    match factor {
        Expression::Symbol(name) => name.starts_with("\\vec "),
        Expression::Negative(inner) => is_vector(inner),
        _ => false,
    }
}

fn is_column(factor: &Expression) -> bool {
    let row = |row: &Expression| row.arguments_of("row").is_some_and(|entries| entries.len() == 1);
    factor.arguments_of("matrix").is_some_and(|rows| rows.len() > 1 && rows.iter().all(row))
}

/// Returns the vector product, of names in alphabetical order with the sign of that order.
fn cross_product(left: Expression, right: Expression) -> Expression {
    let unsigned = |side| match side {
        Expression::Negative(inner) => (true, *inner),
        side => (false, side),
    };
    let ((turned, left), (turned_too, right)) = (unsigned(left), unsigned(right));
    let exchanged = left.as_symbol() > right.as_symbol();
    let factors = if exchanged { [right, left] } else { [left, right] };
    let product = Expression::function("cross", factors);
    let negative = turned ^ turned_too ^ exchanged;
    if negative { -product } else { product }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sign {
    Plus,
    Minus,
    Either(bool),
}

impl Sign {
    pub(super) fn apply(self, term: Expression) -> Expression {
        match self {
            Self::Plus => term,
            Self::Minus => -term,
            Self::Either(flipped) => {
                Expression::function(if flipped { "mp" } else { "pm" }, [term])
            }
        }
    }
}
