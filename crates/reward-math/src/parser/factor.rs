//! Parser of factors: primaries with their powers, factorials and degrees, and numbers in a base.

use dashu::{Integer, Rational};

use super::function::{function_name, is_greek};
use super::{MAX_DEPTH, Parser, Result};
use crate::expression::Expression;
use crate::token::Kind;
use crate::verdict::ParseError;

/// Most digits of a number written in a base.
pub(crate) const MAX_DIGITS_IN_BASE: usize = 1024;
/// Most steps that the numbers in a base of one answer may take: each takes the square of its digits.
const MAX_STEPS_IN_BASES: usize = 8 * MAX_DIGITS_IN_BASE * MAX_DIGITS_IN_BASE;

/// The number that digits, a point and commas mean in a base; `None` where one is no digit of it.
///
/// The base or its negative lies in `2..=36`. The work is quadratic in the digits.
pub(crate) fn in_base(digits: &str, base: i32) -> Option<Rational> {
    let (mut value, mut places) = (Integer::ZERO, None);
    for c in digits.chars().filter(|c| *c != ',') {
        if c == '.' {
            places = Some(0_usize);
            continue;
        }
        value = value * base + c.to_digit(base.unsigned_abs())?;
        places = places.map(|count| count + 1);
    }
    Some(match places {
        None => Rational::from(value),
        Some(places) => Rational::from_parts_signed(value, Integer::from(base).pow(places)),
    })
}

impl Parser {
    /// Parses a primary with its postfixes: powers, factorials, degrees.
    pub(super) fn factor(&mut self) -> Result<Expression> {
        let start = self.position;
        let mut base = self.primary()?;
        // A tuple with the mark of a column is that column.
        let bracket = matches!(self.kind_at(start), Some(Kind::Symbol('(' | '[')));
        let begins = |at| self.kind_at(at).is_some_and(|kind| kind.is_command("begin"));
        let tuple = bracket && !(start..self.position).any(begins);
        let mut postfixes = 0;
        loop {
            if matches!(self.peek(), Some(Kind::Symbol('^' | '\'')))
                && base.holds_matrix()
                && let Some(mark) = self.eat_transposition()
            {
                base = if tuple { base } else { Expression::function(mark, [base]) };
            } else if let Some(side) = self.eat_side() {
                base = Expression::function(&format!("^{side}"), [base]);
            } else if self.eat_power_sign() {
                // `o` is a mark behind a number alone.
                let mark = self.degree_mark_length(0, base.literal().is_some());
                self.position += mark;
                base = if mark > 0 {
                    self.minutes_of_arc(base)
                } else {
                    Expression::power(base, self.deeper(Self::exponent)?)
                };
            } else if self.at_symbol('!') && !self.at_unequal(&base) {
                self.advance();
                // `n!!` and `n!!=6`, written without a space.
                let double = self.eat_if(self.at_symbol('!') && !self.spaced(0));
                let name = if double { "double factorial" } else { "factorial" };
                base = Expression::function(name, [base]);
            } else if self.eat_command("degree") {
                base = self.minutes_of_arc(base);
            } else {
                return Ok(base);
            }
            postfixes += 1;
            if postfixes > MAX_DEPTH / 4 {
                return Err(ParseError::TooDeep { limit: MAX_DEPTH });
            }
        }
    }

    /// Returns true before `!=`; `3!=6` and `n! = 6` are factorials.
    fn at_unequal(&self, base: &Expression) -> bool {
        let factorial = !self.spaced(0) && !base.has_variable();
        self.symbol_at(1, '=') && !self.spaced(1) && !factorial
    }

    /// Skips `^` or `**`.
    fn eat_power_sign(&mut self) -> bool {
        let stars = self.at_symbol('*') && self.symbol_at(1, '*');
        self.eat_if(stars) && self.eat_symbol('*') || self.eat_symbol('^')
    }

    /// Returns the number of tokens of `\circ`, `{\circ}` or the letter `o`, `ahead` tokens from here; 0 if absent.
    pub(super) fn degree_mark_length(&self, ahead: usize, with_letter: bool) -> usize {
        let is_mark = |kind: &Kind| {
            let letter = *kind == Kind::Letter('o') || kind.word() == Some("o");
            kind.is_command("circ") || with_letter && letter
        };
        let mark = |offset: usize| self.peek_at(ahead + offset).is_some_and(is_mark);
        if mark(0) {
            return 1;
        }
        let grouped = self.symbol_at(ahead, '{') && mark(1) && self.symbol_at(ahead + 2, '}');
        if grouped { 3 } else { 0 }
    }

    pub(super) fn at_degree_mark(&self) -> bool {
        self.at_symbol('^') && self.degree_mark_length(1, true) > 0
    }

    /// Parses `15'` and `20''` after integer degrees; returns all of the angle.
    fn minutes_of_arc(&mut self, degrees: Expression) -> Expression {
        let mut parts = vec![degrees];
        let mut unit = Rational::ONE;
        for marks in 1..=2 {
            let Some(Kind::Number { value, .. }) = self.peek() else { break };
            if !(1..=marks).all(|ahead| self.symbol_at(ahead, '\'')) {
                break;
            }
            unit /= Rational::from(60);
            parts.push(Expression::Number(value * &unit));
            self.position += 1 + marks;
        }
        Expression::function("degrees", [Expression::sum(parts)])
    }

    pub(super) fn exponent(&mut self) -> Result<Expression> {
        self.signed(|parser| {
            let base = parser.primary()?;
            // Right-associative where braces are missing: 2^3^2 = 2^9.
            if parser.at_symbol('^') && !parser.command_at(1, "circ") {
                return Ok(Expression::power(base, parser.behind(Self::exponent)?));
            }
            Ok(base)
        })
    }

    pub(crate) fn primary(&mut self) -> Result<Expression> {
        // `\$18 + \$24`
        let amount = matches!(self.peek_at(1), Some(Kind::Number { .. }));
        if amount && self.peek().is_some_and(|kind| kind.is_any("$€£", "")) {
            self.advance();
        }
        if let Some(Kind::Number { value, digits, .. }) = self.peek() {
            let in_base = self.symbol_at(1, '_');
            let (value, digits) = (value.clone(), digits.clone());
            self.advance();
            if in_base {
                return self.number_in_base(&digits);
            }
            return Ok(Expression::Number(value));
        }
        let primary = "a number, a variable or a bracket";
        match self.peek().cloned() {
            Some(Kind::Letter('d')) if let Some(derivative) = self.derivative() => Ok(derivative),
            Some(Kind::Letter(c)) => {
                self.advance();
                self.variable(c.to_string())
            }
            Some(Kind::Symbol('_' | '^')) => self.combinations_before(),
            // `{}_{10}C_3`
            Some(Kind::Symbol('{'))
                if self.symbol_at(1, '}') && (self.symbol_at(2, '_') || self.symbol_at(2, '^')) =>
            {
                self.position += 2;
                self.combinations_before()
            }
            Some(Kind::Symbol('{')) => self.enclosed('{', '}'),
            Some(kind) if kind.is_any("(", "langle") && self.at_separated() => self.vector(),
            // `(101)_2`
            Some(Kind::Symbol('('))
                if self.symbol_at(2, ')')
                    && self.symbol_at(3, '_')
                    && let Some(Kind::Number { digits, .. }) = self.peek_at(1).cloned() =>
            {
                self.position += 3;
                self.number_in_base(&digits)
            }
            Some(Kind::Symbol('(')) => self.enclosed('(', ')'),
            Some(Kind::Symbol('[')) => self.enclosed('[', ']'),
            Some(Kind::Symbol('|')) => self.bars(|parser| parser.eat_symbol('|')),
            Some(Kind::Command(name)) => self.command(&name),
            Some(Kind::Word(name) | Kind::Text(name)) => match name.as_str() {
                "inf" | "infinity" | "oo" | "Infinity" => self.command("infty"),
                "sqrt" => self.command("surd"),
                "pi" | "cbrt" => self.command(&name),
                greek if is_greek(greek) => self.command(greek),
                letter if letter.len() == 1 => {
                    self.advance();
                    self.variable(name)
                }
                _ => match function_name(&name) {
                    Some(function) => self.application(function),
                    None => Err(self.unexpected(primary)),
                },
            },
            _ => Err(self.unexpected(primary)),
        }
    }

    /// `101_2`, `0.0011_{2}`, `1302_{-4}`: the digits read in the base of the subscript.
    fn number_in_base(&mut self, digits: &str) -> Result<Expression> {
        self.advance();
        let base = self.subscript()?;
        let base = base.parse::<i32>().ok().filter(|base| (2..=36).contains(&base.unsigned_abs()));
        let base = base.ok_or_else(|| self.unexpected("a number base from 2 to 36"))?;
        if digits.len() > MAX_DIGITS_IN_BASE {
            return Err(ParseError::TooLong { found: digits.len(), limit: MAX_DIGITS_IN_BASE });
        }
        self.base_steps += digits.len().pow(2);
        if self.base_steps > MAX_STEPS_IN_BASES {
            return Err(ParseError::OutOfFuel);
        }
        let value = in_base(digits, base);
        let value = value.ok_or_else(|| self.unexpected(&format!("digits of base {base}")))?;
        // No literal: `101_2 = 5` is a calculation.
        Ok(Expression::Sum(vec![Expression::Number(value)]))
    }

    /// Parses `(1, 2)` in a sum or product as a column.
    fn vector(&mut self) -> Result<Expression> {
        let entries = self.behind(Self::sums)?;
        if !self.eat_symbol(')') {
            self.expect_command("rangle")?;
        }
        Ok(Expression::matrix(entries.into_iter().map(|entry| vec![entry])))
    }

    pub(super) fn enclosed(&mut self, open: char, close: char) -> Result<Expression> {
        self.expect(open)?;
        let inner = self.with_bars(false, Self::sum)?;
        self.expect(close)?;
        Ok(inner)
    }

    pub(super) fn bars(&mut self, close: impl Fn(&mut Self) -> bool) -> Result<Expression> {
        self.advance();
        let inner = self.with_bars(true, Self::sum)?;
        if close(self) {
            Ok(Expression::function("abs", [inner]))
        } else {
            Err(self.unexpected("the bar that closes an absolute value"))
        }
    }

    /// Parses the text of a subscript: one token or a group of plain tokens.
    pub(super) fn subscript(&mut self) -> Result<String> {
        let grouped = self.eat_symbol('{');
        let (mut text, mut depth) = (String::new(), 0_usize);
        loop {
            if grouped && !text.is_empty() && self.eat_symbol('}') {
                if depth == 0 {
                    return Ok(text);
                }
                depth -= 1;
                continue;
            }
            match self.peek() {
                Some(Kind::Number { digits, .. }) => text.push_str(digits),
                // `x_{a_{1}}`
                Some(Kind::Symbol('{')) if grouped && text.ends_with('_') => depth += 1,
                Some(Kind::Symbol(c @ ('_' | '\''))) if grouped && !text.is_empty() => {
                    text.push(*c);
                }
                Some(Kind::Letter(c) | Kind::Symbol(c @ ('+' | '-' | ',' | '/'))) => text.push(*c),
                Some(Kind::Text(word) | Kind::Word(word)) => text.push_str(word),
                Some(Kind::Command(name)) => text.push_str(name),
                _ => return Err(self.unexpected("a subscript")),
            }
            self.advance();
            if !grouped {
                return Ok(text);
            }
        }
    }
}
