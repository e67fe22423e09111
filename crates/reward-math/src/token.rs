//! Folded text to tokens: LaTeX decoration disappears here, numbers and words are recognised.

mod name;
mod number;

use name::is_word;
use num_rational::BigRational;

use crate::verdict::ParseError;

/// Most tokens one answer may have.
pub(crate) const MAX_TOKENS: usize = 32 * 1024;
/// Most digits one literal may have.
const MAX_DIGITS: usize = 4096;

/// One token and what stood before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Byte offset in the folded text.
    pub(crate) at: usize,
    /// Whether space stood before it.
    pub(crate) spaced: bool,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A literal: its value, its digits as written, and whether commas group it.
    Number { value: BigRational, digits: String, grouped: bool },
    /// One letter: a variable.
    Letter(char),
    /// A run of letters that is a word, lower-cased or not as written.
    Word(String),
    /// The inside of `\text{…}`.
    Text(String),
    /// `\name`.
    Command(String),
    /// Any other character. `{` and `}` are TeX groups; `\{` and `\}` are [`Kind::Command`]s `{` and `}`.
    Symbol(char),
}

impl Kind {
    pub(crate) fn is_symbol(&self, c: char) -> bool {
        matches!(self, Self::Symbol(s) if *s == c)
    }

    pub(crate) fn is_command(&self, name: &str) -> bool {
        matches!(self, Self::Command(found) if found == name)
    }

    /// The token as an error message shows it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Number { digits, .. } => format!("`{digits}`"),
            Self::Letter(c) | Self::Symbol(c) => format!("`{c}`"),
            Self::Word(word) | Self::Text(word) => format!("`{word}`"),
            Self::Command(name) => format!("`\\{name}`"),
        }
    }
}

/// Splits folded text into tokens.
///
/// With `grouping`, `1,234` outside brackets is one number; without, it is two.
pub(crate) fn tokenize(text: &str, grouping: bool) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { text, at: 0, spaced: false, depth: 0, grouping, tokens: Vec::new() };
    while lexer.step()? {
        if lexer.tokens.len() > MAX_TOKENS {
            return Err(ParseError::TooLong { found: text.len(), limit: MAX_TOKENS });
        }
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    spaced: bool,
    /// Round and square brackets and `\{` that are open: inside them a comma separates.
    depth: usize,
    grouping: bool,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, length: usize) {
        self.tokens.push(Token { kind, at: self.at, spaced: self.spaced });
        self.spaced = false;
        self.at += length;
    }

    /// Reads one token; false at the end.
    fn step(&mut self) -> Result<bool, ParseError> {
        let Some(c) = self.rest().chars().next() else { return Ok(false) };
        match c {
            c if c.is_whitespace() => {
                self.spaced = true;
                self.at += c.len_utf8();
            }
            '$' => self.at += 1,
            '\\' => self.command(),
            '0'..='9' => self.number()?,
            '.' if self.rest()[1..].starts_with(|d: char| d.is_ascii_digit()) => self.number()?,
            c if c.is_alphabetic() => self.letters(),
            c => {
                match c {
                    '(' | '[' => self.depth += 1,
                    ')' | ']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                self.push(Kind::Symbol(c), c.len_utf8());
            }
        }
        Ok(true)
    }

    fn command(&mut self) {
        let rest = &self.text[self.at + 1..];
        let name_length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        if name_length == 0 {
            let c = rest.chars().next();
            let length = 1 + c.map_or(0, char::len_utf8);
            match c {
                Some('$') => self.push(Kind::Symbol('$'), length),
                Some('!' | '(' | ')' | '[' | ']') => self.at += length,
                Some(c @ ('{' | '}' | '%' | '|')) => {
                    match c {
                        '{' => self.depth += 1,
                        '}' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    self.push(Kind::Command(c.to_string()), length);
                }
                // `\\` ends a row; `\,` `\;` `\ ` and the like are space.
                Some('\\') => self.push(Kind::Command("\\".to_owned()), length),
                _ => {
                    self.spaced = true;
                    self.at += length;
                }
            }
            return;
        }
        let name = rest[..name_length].to_owned();
        let length = 1 + name_length;
        match name.as_str() {
            "left" | "right" | "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl"
            | "Bigr" | "displaystyle" | "textstyle" | "limits" | "rm" | "bf" | "it" => {
                self.at += length;
            }
            "quad" | "qquad" | "space" | "hspace" | "enspace" | "thinspace" => {
                self.spaced = true;
                self.at += length;
            }
            "text" | "textbf" | "textit" | "textrm" | "textsf" | "mbox" | "hbox" | "mathrm"
            | "mathbf" | "mathit" | "mathsf" | "operatorname" | "emph" | "textnormal" => {
                self.text_group(length);
            }
            "color" | "textcolor" => {
                self.at += length;
                if let Some(inner) = group(self.rest()) {
                    self.at += inner.len() + 2;
                }
            }
            _ => self.push(Kind::Command(name), length),
        }
    }

    /// `\text{…}`: plain words become text, anything with mathematics in it is read as such.
    fn text_group(&mut self, length: usize) {
        let after = &self.text[self.at + length..];
        let skipped = after.len() - after.trim_start().len();
        let Some(inner) = group(after.trim_start()) else {
            self.at += length;
            return;
        };
        let inner = inner.to_owned();
        let total = length + skipped + inner.len() + 2;
        let words = inner.trim();
        if words.is_empty() {
            self.spaced = true;
            self.at += total;
        } else if words.chars().count() == 1
            && words.starts_with(|c: char| c.is_ascii_lowercase())
            && self.expects_operand()
        {
            self.push(Kind::Letter(words.chars().next().unwrap_or(' ')), total);
        } else if words.chars().any(char::is_alphabetic) && !words.contains(['\\', '$', '{', '_']) {
            self.push(Kind::Text(words.to_owned()), total);
        } else {
            // Read on inside; the closing brace is left as a group of its own.
            self.at += length + skipped;
        }
    }

    /// Whether an expression must begin here: nothing is before, or a sign of calculation.
    fn expects_operand(&self) -> bool {
        self.tokens.last().is_none_or(|token| {
            matches!(token.kind, Kind::Symbol('+' | '-' | '*' | '=' | '/' | '^' | '(' | ','))
        })
    }

    fn letters(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let run = rest[..length].to_owned();
        if run.chars().nth(1).is_none() {
            let letter = run.chars().next().unwrap_or(' ');
            // A character of a script of words is one.
            if letter >= '\u{3040}' {
                self.push(Kind::Word(run), length);
            } else {
                self.push(Kind::Letter(letter), length);
            }
        } else if is_word(&run) {
            self.push(Kind::Word(run), length);
        } else {
            for c in run.chars() {
                self.push(Kind::Letter(c), c.len_utf8());
            }
        }
    }
}

/// The inside of the `{…}` at the start, if it closes.
fn group(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then(|| &text[1..at]);
        }
    }
    None
}
