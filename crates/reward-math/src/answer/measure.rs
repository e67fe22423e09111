//! Words, currencies and units beside a value.

use super::is_conjunction;
use crate::parser::{Parser, Result, function_name};
use crate::token::Kind;
use crate::words;

impl Parser {
    /// Words up to the end of the item, if it starts with one.
    pub(super) fn words(&mut self) -> Option<String> {
        let starts = match self.peek() {
            Some(Kind::Word(word) | Kind::Text(word)) => !self.is_name(word),
            _ => false,
        };
        if !starts {
            return None;
        }
        let mut text = Vec::new();
        while let Some(Kind::Word(word) | Kind::Text(word)) = self.peek() {
            if is_conjunction(word) {
                break;
            }
            text.push(word.clone());
            self.advance();
        }
        words::normalise(&text.join(" "))
    }

    pub(super) fn is_name(&self, word: &str) -> bool {
        let constant = matches!(word, "pi" | "inf" | "infinity" | "oo" | "Infinity" | "sqrt");
        (constant || function_name(word).is_some())
            && !self.peek_at(1).is_some_and(|kind| kind.is_symbol('='))
    }

    /// A currency sign before the number, also after its sign.
    pub(super) fn currency(&mut self) -> Option<String> {
        let behind_minus = self.at_symbol('-') && self.peek_at(1).and_then(currency_name).is_some();
        let ahead = usize::from(behind_minus);
        let name = self.peek_at(ahead).and_then(currency_name)?;
        if behind_minus {
            self.swap_with_next();
        }
        self.advance();
        Some(name.to_owned())
    }

    /// "percent" and its short form.
    pub(super) fn eat_percent_word(&mut self) -> bool {
        let found = matches!(
            self.peek(),
            Some(Kind::Word(word) | Kind::Text(word)) if matches!(word.as_str(), "percent" | "percentage" | "pct")
        );
        if found {
            self.advance();
        }
        found
    }

    /// The words of measurement after a value.
    pub(super) fn unit(&mut self, start: usize) -> Result<Option<String>> {
        let mut unit = String::new();
        loop {
            match self.peek() {
                Some(Kind::Word(word) | Kind::Text(word)) if !is_conjunction(word) => {
                    if self.position() == start {
                        return Err(self.unexpected("a value before its unit"));
                    }
                    unit.push(' ');
                    unit.push_str(word);
                }
                Some(Kind::Symbol(c)) if currency_name(&Kind::Symbol(*c)).is_some() => {
                    unit.push_str(currency_name(&Kind::Symbol(*c)).unwrap_or_default());
                }
                Some(Kind::Symbol('/' | '^' | '{' | '}') | Kind::Number { .. })
                    if !unit.is_empty() =>
                {
                    let inside = matches!(self.peek(), Some(Kind::Symbol('}')));
                    if inside && !unit.contains('{') {
                        break;
                    }
                    match self.peek() {
                        Some(Kind::Symbol(c)) => unit.push(*c),
                        Some(Kind::Number { digits, .. }) => unit.push_str(digits),
                        _ => {}
                    }
                }
                Some(Kind::Symbol('(')) if !unit.is_empty() => {
                    // A remark in brackets after the unit.
                    let Some((close, _)) = self.bracket() else { break };
                    while self.position() < close {
                        self.advance();
                    }
                }
                _ => break,
            }
            self.advance();
        }
        Ok(words::unit(&unit))
    }
}

fn currency_name(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Symbol('$') => Some("dollar"),
        Kind::Symbol('€') => Some("euro"),
        Kind::Symbol('£') => Some("pound sterling"),
        Kind::Symbol('¥') => Some("yen"),
        _ => None,
    }
}
