//! Parser from tokens to expressions, by precedence climbing with a depth limit.

mod calculus;
mod command;
mod dots;
mod factor;
mod function;
mod name;
mod sum;

pub(crate) use dots::begins_with;
pub(crate) use factor::{MAX_DIGITS_IN_BASE, in_base};
pub(crate) use function::{function_name, is_greek};

use crate::expression::Expression;
use crate::token::{Kind, Token};
use crate::verdict::ParseError;

/// Deepest nesting of brackets, fractions, roots and exponents.
pub(crate) const MAX_DEPTH: usize = 64;

/// Most rules run one level deeper for each token.
const DEEPENED_A_TOKEN: usize = 3;

/// Most terms that calculated entries of matrices have, all together.
const MAX_MATRIX_TERMS: usize = 8192;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// A cursor over tokens.
#[derive(Default)]
pub(crate) struct Parser {
    tokens: Vec<Token>,
    pub(crate) position: usize,
    depth: usize,
    /// Constructs around the current token.
    pub(crate) around: Surroundings,
    /// Number of environments around the current token: `&` separates cells inside them, answers outside.
    pub(crate) environments: usize,
    /// True behind `\int`, where `dx` ends a product.
    in_integral: bool,
    /// True if "or" joins items that were parsed.
    pub(crate) alternatives: bool,
    /// Terms that entries of matrices may still have, all together.
    pub(crate) matrix_budget: usize,
    /// Steps spent on numbers in a base.
    base_steps: usize,
    /// Tokens that were replaced, with their places.
    pub(crate) replaced: Vec<(usize, Kind)>,
    /// Number of rules that were run one level deeper.
    deepened: usize,
    /// Index of the closing bracket for each opening one, and of `\\end` for each `\\begin`.
    partner: Vec<Option<usize>>,
    /// True for an opening bracket with a comma or semicolon directly inside it.
    separated: Vec<bool>,
}

/// Most tokens of a superscript before a subscript.
const LONGEST_SCRIPT: usize = 64;

/// Constructs around a token that change the meaning of signs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surroundings {
    /// Inside `|…|`, where another `|` closes.
    pub(crate) bars: bool,
    /// Inside the braces of a set, where `:` comes before the conditions of its members.
    pub(crate) builder: bool,
    /// After `\equiv`, where `\mod` names the modulus.
    pub(crate) congruence: bool,
}

impl Parser {
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        let mut tokens = without_alignment(tokens);
        subscripts_first(&mut tokens);
        let mut parser = Self {
            partner: vec![None; tokens.len()],
            separated: vec![false; tokens.len()],
            tokens,
            matrix_budget: MAX_MATRIX_TERMS,
            ..Self::default()
        };
        let mut open: Vec<usize> = Vec::new();
        for index in 0..parser.tokens.len() {
            let kind = &parser.tokens[index].kind;
            if kind.is_any("([{", "{ langle begin") {
                open.push(index);
            } else if kind.is_any(")]}", "} rangle end") {
                if let Some(start) = open.pop() {
                    parser.partner[start] = Some(index);
                }
            } else if kind.is_any(",;", "")
                && let Some(&start) = open.last()
            {
                parser.separated[start] = true;
            }
        }
        parser
    }

    /// Returns the tokens without marks of alignment.
    pub(crate) fn aligned(tokens: &[Token]) -> Vec<Token> {
        Self::new(tokens.to_vec()).tokens
    }

    /// Returns a parser of exactly these tokens, `None` if marks of alignment are among them.
    pub(crate) fn exactly(tokens: &[Token]) -> Option<Self> {
        Some(Self::new(tokens.to_vec())).filter(|parser| parser.tokens.len() == tokens.len())
    }

    pub(crate) fn peek(&self) -> Option<&Kind> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.position + ahead).map(|token| &token.kind)
    }

    /// Returns the token before the current one.
    pub(crate) fn before(&self) -> Option<&Kind> {
        self.kind_at(self.position.checked_sub(1)?)
    }

    pub(crate) fn spaced(&self, ahead: usize) -> bool {
        self.tokens.get(self.position + ahead).is_some_and(|token| token.spaced)
    }

    pub(crate) fn advance(&mut self) {
        self.position += 1;
    }

    /// Moves behind this token, or behind all of the brackets or the environment that it opens.
    pub(crate) fn skip(&mut self) {
        if let Some((close, _)) = self.bracket() {
            // The name in braces.
            let name = usize::from(self.at_command("begin"));
            self.position = close + name;
            self.position = self.bracket().map_or(self.position, |(close, _)| close);
        }
        self.position = (self.position + 1).min(self.tokens.len());
    }

    pub(crate) fn at_symbol(&self, c: char) -> bool {
        self.symbol_at(0, c)
    }

    pub(crate) fn at_command(&self, name: &str) -> bool {
        self.command_at(0, name)
    }

    /// Returns true if this symbol stands so many tokens ahead.
    pub(crate) fn symbol_at(&self, ahead: usize, c: char) -> bool {
        self.peek_at(ahead).is_some_and(|kind| kind.is_symbol(c))
    }

    pub(crate) fn command_at(&self, ahead: usize, name: &str) -> bool {
        self.peek_at(ahead).is_some_and(|kind| kind.is_command(name))
    }

    pub(crate) fn peek_word(&self) -> Option<&str> {
        self.peek().and_then(Kind::word)
    }

    /// Skips a symbol that has to be here.
    pub(crate) fn expect(&mut self, c: char) -> Result<()> {
        if self.eat_symbol(c) { Ok(()) } else { Err(self.unexpected(&format!("`{c}`"))) }
    }

    pub(crate) fn expect_command(&mut self, name: &str) -> Result<()> {
        if self.eat_command(name) { Ok(()) } else { Err(self.unexpected(&format!("`\\{name}`"))) }
    }

    /// Parses signs, and by a rule the value behind them.
    fn signed(&mut self, rule: impl FnOnce(&mut Self) -> Result<Expression>) -> Result<Expression> {
        let mut negative = false;
        while self.at_symbol('-') || self.at_symbol('+') {
            negative ^= self.at_symbol('-');
            self.advance();
        }
        let value = rule(self)?;
        Ok(if negative { -value } else { value })
    }

    /// Skips this token if the condition holds, and returns the condition.
    pub(crate) fn eat_if(&mut self, is_here: bool) -> bool {
        self.position += usize::from(is_here);
        is_here
    }

    pub(crate) fn eat_symbol(&mut self, c: char) -> bool {
        self.eat_if(self.at_symbol(c))
    }

    pub(crate) fn eat_command(&mut self, name: &str) -> bool {
        self.eat_if(self.at_command(name))
    }

    /// Returns the token index of the bracket that closes the current one, and whether it holds a separator.
    pub(crate) fn bracket(&self) -> Option<(usize, bool)> {
        let close = (*self.partner.get(self.position)?)?;
        Some((close, self.separated[self.position]))
    }

    /// Returns true before a bracket with a comma or semicolon directly inside it.
    pub(crate) fn at_separated(&self) -> bool {
        self.bracket().is_some_and(|(_, separated)| separated)
    }

    /// Exchanges this token and the next, which has to be there.
    pub(crate) fn swap_with_next(&mut self) {
        self.tokens.swap(self.position, self.position + 1);
    }

    /// Replaces the current token, until an attempt fails.
    pub(crate) fn replace(&mut self, kind: Kind) {
        if let Some(token) = self.tokens.get_mut(self.position) {
            let before = std::mem::replace(&mut token.kind, kind);
            self.replaced.push((self.position, before));
        }
    }

    /// Puts back the tokens that were replaced behind the first so many.
    pub(crate) fn put_back(&mut self, first: usize) {
        for (place, kind) in self.replaced.drain(first..).rev() {
            self.tokens[place].kind = kind;
        }
    }

    /// Runs a rule; restores position and tokens if it does not apply or fails. Exceeded limits remain errors.
    pub(crate) fn attempt<T>(
        &mut self,
        rule: impl FnOnce(&mut Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let (start, depth, around) = (self.position, self.depth, self.around);
        let replaced = self.replaced.len();
        match rule(self) {
            Ok(Some(found)) => Ok(Some(found)),
            Err(
                why @ (ParseError::TooDeep { .. }
                | ParseError::TooLong { .. }
                | ParseError::OutOfFuel),
            ) => Err(why),
            Ok(None) | Err(_) => {
                (self.position, self.depth, self.around) = (start, depth, around);
                self.put_back(replaced);
                Ok(None)
            }
        }
    }

    /// Runs a rule in which `|` closes, or does not.
    pub(crate) fn with_bars<T>(
        &mut self,
        bars: bool,
        rule: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let in_bars = std::mem::replace(&mut self.around.bars, bars);
        let result = rule(self);
        self.around.bars = in_bars;
        result
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

    /// Moves behind this token and runs a rule one level deeper.
    fn behind<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.advance();
        self.deeper(rule)
    }

    /// Runs a rule one level deeper.
    pub(crate) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseError::TooDeep { limit: MAX_DEPTH });
        }
        // A rule that is tried and undone reads its brackets again: of nested ones each level would double the work.
        self.deepened += 1;
        if self.deepened > DEEPENED_A_TOKEN * self.tokens.len() {
            return Err(ParseError::OutOfFuel);
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }
}

/// Removes each `&` beside a sign of relation: it aligns lines.
fn without_alignment(mut tokens: Vec<Token>) -> Vec<Token> {
    let relates = |token: Option<&Token>| {
        let signs = "le leq ge geq ne neq leqslant geqslant";
        token.is_some_and(|token| token.kind.is_any("=<>", signs))
    };
    let aligns: Vec<bool> = (0..tokens.len())
        .map(|at| {
            tokens[at].kind.is_symbol('&')
                && (relates(tokens.get(at + 1)) || relates(tokens[..at].last()))
        })
        .collect();
    let mut aligns = aligns.into_iter();
    tokens.retain(|_| aligns.next() != Some(true));
    tokens
}

/// Moves a subscript of a letter before its superscript: `x^2_1` is the square of `x_1`.
fn subscripts_first(tokens: &mut [Token]) {
    let script = |tokens: &[Token], sign: char, start: usize| {
        let is_sign = tokens.get(start)?.kind.is_symbol(sign);
        let mut depth = 0_usize;
        let end = tokens.iter().skip(start + 1).take(LONGEST_SCRIPT).position(|token| {
            depth += usize::from(token.kind.is_symbol('{'));
            depth = depth.saturating_sub(usize::from(token.kind.is_symbol('}')));
            depth == 0
        })?;
        is_sign.then_some(start + end + 2)
    };
    for place in 1..tokens.len() {
        if !tokens[place].kind.is_symbol('^') {
            continue;
        }
        let is_name = match &tokens[place - 1].kind {
            Kind::Letter(_) => true,
            Kind::Command(name) => function::is_greek(name),
            _ => false,
        };
        if is_name
            && let Some(middle) = script(tokens, '^', place)
            && let Some(end) = script(tokens, '_', middle)
        {
            tokens[place..end].rotate_left(middle - place);
        }
    }
}
