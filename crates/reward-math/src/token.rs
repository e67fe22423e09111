//! Lexer from folded text to tokens: removes LaTeX decoration, recognises numbers and words.

use std::sync::LazyLock;

use dashu::Rational;

mod command;
mod number;

use crate::table::{Table, captured, lists, pattern};
use crate::verdict::ParseError;
use crate::words::{self, is_conjunction};

/// Most tokens one answer may have.
pub(crate) const MAX_TOKENS: usize = 32 * 1024;
/// Most digits one literal may have.
const MAX_DIGITS: usize = 4096;

/// Names of functions, abbreviations of units, and short words that are no products of variables.
static NAMES: LazyLock<Table> = LazyLock::new(|| Table::new(include_str!("token/names.txt"), ' '));

/// One token, and whether space is before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Byte offset in the folded text.
    pub(crate) at: usize,
    /// True if space is before it.
    pub(crate) spaced: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A literal: its value, its digits as written, and whether commas group it.
    Number { value: Rational, digits: String, grouped: bool },
    /// One letter: a variable.
    Letter(char),
    /// A run of letters that is a word, in lower case unless its case matters.
    Word(String),
    /// Content of `\text{…}`.
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

    /// Returns true for one of the symbols, or of the commands in a text with spaces between.
    pub(crate) fn is_any(&self, symbols: &str, commands: &str) -> bool {
        match self {
            Self::Symbol(c) => symbols.contains(*c),
            Self::Command(name) => lists(commands, name),
            _ => false,
        }
    }

    pub(crate) fn word(&self) -> Option<&str> {
        if let Self::Word(word) | Self::Text(word) = self { Some(word) } else { None }
    }

    /// Returns true for `\bmod`, `\mod` or the word.
    pub(crate) fn is_modulo(&self) -> bool {
        self.is_any("", "mod bmod") || self.word() == Some("mod")
    }

    /// Returns the token in the wording of error messages.
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
    let mut lexer = Lexer { text, grouping, ..Lexer::default() };
    while lexer.step()? {
        if lexer.tokens.len() > MAX_TOKENS {
            return Err(ParseError::TooLong { found: text.len(), limit: MAX_TOKENS });
        }
    }
    Ok(lexer.tokens)
}

/// Returns the tokens with `mL` and `kg` as products of letters; `None` if there is no such abbreviation.
pub(crate) fn in_letters(tokens: &[Token]) -> Option<Vec<Token>> {
    let letters = |token: &Token| match &token.kind {
        Kind::Word(run) if is_unit_abbreviation(&run.to_lowercase()) => {
            run.chars().map(|c| Token { kind: Kind::Letter(c), ..token.clone() }).collect()
        }
        _ => vec![token.clone()],
    };
    let product: Vec<Token> = tokens.iter().flat_map(letters).collect();
    (product.len() > tokens.len()).then_some(product)
}

/// Returns true for `12mL^2`, `2mg/k` and `2mg`, which may be products: of units, lengths alone have powers.
pub(crate) fn may_be_product(tokens: &[Token]) -> bool {
    let is_product = |(place, token): (usize, &Token)| {
        let Kind::Word(run) = &token.kind else { return false };
        let run = run.to_lowercase();
        let is_length = lists("cm mm km dm ft mi yd hr", &run);
        let power = tokens.get(place + 1).is_some_and(|next| next.kind.is_any("^/", ""));
        is_unit_abbreviation(&run) && (run == "mg" || power && !is_length)
    };
    tokens.iter().enumerate().any(is_product)
}

#[derive(Default)]
struct Lexer<'a> {
    text: &'a str,
    at: usize,
    spaced: bool,
    /// Number of open round and square brackets and `\{`: inside them a comma separates.
    depth: usize,
    grouping: bool,
    tokens: Vec<Token>,
    /// Offsets of the closing braces of text groups that are read as mathematics, the innermost last.
    dropped: Vec<usize>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn last(&self) -> Option<&Kind> {
        self.tokens.last().map(|token| &token.kind)
    }

    /// Returns true behind a number or a group.
    fn behind_value(&self) -> bool {
        self.last().is_some_and(|kind| matches!(kind, Kind::Number { .. }) || kind.is_symbol('}'))
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
            '.' if self.rest().starts_with("...") => self.push(Kind::Command("ldots".into()), 3),
            '}' if self.dropped.last() == Some(&self.at) => {
                self.dropped.pop();
                self.at += 1;
            }
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

    /// Returns true if an expression must begin here: at the start, or after an operator.
    fn expects_operand(&self) -> bool {
        self.last().is_none_or(|kind| kind.is_any("+-*=<>/^(,", ""))
    }

    /// Returns true if an expression must begin here, or a group starts.
    fn begins_operand(&self) -> bool {
        self.expects_operand()
            // `\mu mg`: a product.
            || self.last().is_some_and(|kind| kind.is_any("{", "mu theta lambda alpha beta rho"))
    }

    fn letters(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let run = rest[..length].to_owned();
        let mut characters = run.chars();
        let first = characters.next().unwrap_or(' ');
        // "5 m/s": a quotient of letters is one of variables, except for this one.
        if self.behind_value()
            && self.spaced
            && let Some(unit) = unit_in_letters(rest)
        {
            self.push(Kind::Text(unit.to_owned()), unit.len());
            return;
        }
        // "concave up on (0, 1)", "maximum at x = 2"
        let behind_word = matches!(self.last(), Some(Kind::Word(_)));
        // "a triangle", "an odd function"
        let opens = self.last().is_none_or(|kind| kind.word() == Some("and"));
        let article = opens && matches!(run.as_str(), "a" | "A" | "an" | "An");
        if article && is_noun_phrase(&rest[length..])
            || behind_word && self.spaced && matches!(run.as_str(), "up" | "at" | "on")
        {
            self.push(Kind::Word(run), length);
        } else if characters.next().is_none() {
            // A character of a word script is a word.
            let is_word = first >= '\u{3040}';
            self.push(if is_word { Kind::Word(run) } else { Kind::Letter(first) }, length);
        } else if let Some((name, argument)) = split_function(&run) {
            self.push(Kind::Word(name.to_owned()), name.len());
            self.push(Kind::Letter(argument), 1);
        } else if is_word(&run)
            && !(is_unit_abbreviation(&run) && self.begins_operand())
            && !(run == "mg" && rest[length..].trim_start().starts_with(['+', '-', '\\', '(']))
            || self.is_foreign_conjunction(&run)
        {
            self.push(Kind::Word(run), length);
        } else {
            for c in run.chars() {
                self.push(Kind::Letter(c), c.len_utf8());
            }
        }
    }

    /// Returns true for "1 et 2": a conjunction between two answers, not a product of variables.
    fn is_foreign_conjunction(&self, run: &str) -> bool {
        matches!(run, "et" | "ou" | "und")
            && self.spaced
            && self.rest()[run.len()..].starts_with(' ')
            && !self.expects_operand()
    }
}

/// Returns true for the words behind an article, false for "a and b", "a times b", "a sin x".
fn is_noun_phrase(behind: &str) -> bool {
    let operators = "plus minus times over divided squared cubed mod modulo equals where when with unless \
         sin cos tan cot sec csc log exp sqrt alpha beta theta";
    let word = captured(pattern!(r"^ ([a-z]{3,}+)(?:[ .,-]|$)"), behind).map(|word| word.as_str());
    word.is_some_and(|word| {
        is_word(word)
            && !is_conjunction(word)
            && !lists(operators, word)
            && split_function(word).is_none()
    })
}

/// Returns the unit at the start: `m/s`, `kN`, `kg m / s^2`. Other letters are variables.
fn unit_in_letters(rest: &str) -> Option<&str> {
    let usual = pattern!(
        r"^(?:nm$|mA$|Pa$|Hz$|m/s|m/min|g/mol|[GMkmnμ](?:N|J|W|V|Hz|Pa|eV|F)|(?:kg|g|J|N|W|kJ|mol) ?[*/ ] ?[A-Za-z]{1,3}(?:\^?[0-9])?(?: ?[*/ ] ?[A-Za-z]{1,3}(?:\^?[0-9])?)*$)(?-u:\b)"
    );
    usual.find(rest).map(|unit| unit.as_str()).filter(|unit| words::is_measure(unit))
}

/// Returns the content of the `{…}` at the start, if it closes.
pub(crate) fn group(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (offset, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (offset > 0).then(|| &text[1..offset]);
        }
    }
    None
}

/// Returns true if a run of two or more letters is a word or name rather than a product of variables.
fn is_word(run: &str) -> bool {
    // `NO` and `OR` are segments of a figure.
    if run.len() == 2
        && run.bytes().all(|byte| byte.is_ascii_uppercase())
        && !matches!(run, "AM" | "PM")
    {
        return false;
    }
    let lower = run.to_lowercase();
    let mut characters = run.chars();
    // "May", "Tom", "Red".
    let capitalised = characters.next().is_some_and(char::is_uppercase)
        && run.chars().count() >= 3
        && characters.all(char::is_lowercase);
    run.chars().count() >= 4 && !is_product(run)
        || capitalised
        || !run.is_ascii()
        || run == "Rs"
        || NAMES.name(&lower).is_some_and(|kind| {
            // `dM`, `mM`: a differential, two masses.
            kind != "unit" || !run.ends_with('M')
        })
}

/// Returns true for `mghR`: letters of both cases without a vowel, and no unit such as `mmHg`.
fn is_product(run: &str) -> bool {
    let capitals = run.chars().skip(1).any(|c| c.is_ascii_uppercase());
    let small = run.chars().any(|c| c.is_ascii_lowercase());
    capitals
        && small
        && run.is_ascii()
        && !run.contains(['a', 'e', 'i', 'o', 'u', 'y'])
        && run != "mmHg"
}

/// Returns true for an abbreviation of a unit, which is one only after a number: `mg\sin\theta` is a product.
fn is_unit_abbreviation(run: &str) -> bool {
    NAMES.name(run) == Some("unit")
}

/// Splits `sinx` and `lny` into the function and its argument.
fn split_function(run: &str) -> Option<(&str, char)> {
    let argument = run.chars().next_back().filter(|c| matches!(c, 'x' | 'y'))?;
    let name = &run[..run.len() - 1];
    matches!(name, "sin" | "cos" | "tan" | "cot" | "sec" | "csc" | "ln" | "log" | "lg" | "exp")
        .then_some((name, argument))
}
