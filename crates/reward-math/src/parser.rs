//! Tokens to expressions, by precedence climbing with a depth limit.

mod command;
mod factor;
mod function;
mod sum;

pub(crate) use function::function_name;

use crate::token::{Kind, Token};
use crate::verdict::ParseError;

/// Deepest nesting of brackets, fractions, roots and exponents.
pub(crate) const MAX_DEPTH: usize = 64;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// A cursor over tokens.
pub(crate) struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    /// Inside `|…|` another `|` closes.
    in_bars: bool,
    /// The closing partner of each opening bracket.
    partner: Vec<Option<usize>>,
    /// Whether a comma or semicolon stands directly between an opening bracket and its partner.
    separated: Vec<bool>,
}

impl Parser {
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        let mut parser = Self {
            partner: vec![None; tokens.len()],
            separated: vec![false; tokens.len()],
            tokens,
            position: 0,
            depth: 0,
            in_bars: false,
        };
        let mut open: Vec<usize> = Vec::new();
        for at in 0..parser.tokens.len() {
            match class(&parser.tokens[at].kind) {
                Class::Open => open.push(at),
                Class::Close => {
                    if let Some(start) = open.pop() {
                        parser.partner[start] = Some(at);
                    }
                }
                Class::Separator => {
                    if let Some(&start) = open.last() {
                        parser.separated[start] = true;
                    }
                }
                Class::Other => {}
            }
        }
        parser
    }

    pub(crate) fn peek(&self) -> Option<&Kind> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.position + ahead).map(|token| &token.kind)
    }

    pub(super) fn spaced(&self) -> bool {
        self.tokens.get(self.position).is_some_and(|token| token.spaced)
    }

    pub(crate) fn advance(&mut self) {
        self.position += 1;
    }

    pub(crate) fn at_symbol(&self, c: char) -> bool {
        self.peek().is_some_and(|kind| kind.is_symbol(c))
    }

    pub(crate) fn at_command(&self, name: &str) -> bool {
        self.peek().is_some_and(|kind| kind.is_command(name))
    }

    pub(crate) fn eat_symbol(&mut self, c: char) -> bool {
        let found = self.at_symbol(c);
        self.position += usize::from(found);
        found
    }

    pub(crate) fn eat_command(&mut self, name: &str) -> bool {
        let found = self.at_command(name);
        self.position += usize::from(found);
        found
    }

    /// Token index of the bracket that closes the one here, and whether it holds a separator.
    pub(crate) fn bracket(&self) -> Option<(usize, bool)> {
        let close = (*self.partner.get(self.position)?)?;
        Some((close, self.separated[self.position]))
    }

    /// Exchanges this token and the next.
    pub(crate) fn swap_with_next(&mut self) {
        if self.position + 1 < self.tokens.len() {
            self.tokens.swap(self.position, self.position + 1);
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn kind_at(&self, index: usize) -> Option<&Kind> {
        self.tokens.get(index).map(|token| &token.kind)
    }

    pub(crate) fn unexpected(&self, expected: &str) -> ParseError {
        let token = self.tokens.get(self.position);
        ParseError::Syntax {
            at: token
                .map_or_else(|| self.tokens.last().map_or(0, |last| last.at + 1), |token| token.at),
            found: token.map_or_else(|| "the end".to_owned(), |token| token.kind.describe()),
            expected: expected.to_owned(),
        }
    }

    /// Runs a rule one level deeper.
    pub(crate) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseError::TooDeep { limit: MAX_DEPTH });
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }
}

enum Class {
    Open,
    Close,
    Separator,
    Other,
}

fn class(kind: &Kind) -> Class {
    match kind {
        Kind::Symbol('(' | '[' | '{') => Class::Open,
        Kind::Symbol(')' | ']' | '}') => Class::Close,
        Kind::Symbol(',' | ';') => Class::Separator,
        Kind::Command(name) => match name.as_str() {
            "{" | "langle" | "lbrace" => Class::Open,
            "}" | "rangle" | "rbrace" => Class::Close,
            _ => Class::Other,
        },
        _ => Class::Other,
    }
}
