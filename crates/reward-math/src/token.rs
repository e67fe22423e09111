//! Folded text to tokens: LaTeX decoration disappears here, numbers and words are recognised.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use crate::verdict::ParseError;

/// Most tokens one answer may have.
pub(crate) const MAX_TOKENS: usize = 4096;
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
        } else if words.chars().any(char::is_alphabetic) && !words.contains(['\\', '$', '{', '_']) {
            self.push(Kind::Text(words.to_owned()), total);
        } else {
            // Read on inside; the closing brace is left as a group of its own.
            self.at += length + skipped;
        }
    }

    fn letters(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let run = rest[..length].to_owned();
        if run.chars().nth(1).is_none() {
            let letter = run.chars().next().unwrap_or(' ');
            self.push(Kind::Letter(letter), length);
        } else if is_word(&run) {
            self.push(Kind::Word(run), length);
        } else {
            for c in run.chars() {
                self.push(Kind::Letter(c), c.len_utf8());
            }
        }
    }

    fn number(&mut self) -> Result<(), ParseError> {
        let rest = self.rest();
        let (mut digits, mut length, grouped) = self.integer_part(rest);
        let whole = digits.len();
        let mut repeating = String::new();
        if rest[length..].starts_with('.') {
            let fraction = &rest[length + 1..];
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let (repeat, repeat_length) = repeating_part(&fraction[count..], &fraction[..count]);
            if count > 0 || repeat_length > 0 {
                digits.push_str(&fraction[..count]);
                length += 1 + count + repeat_length;
                repeating = repeat;
            }
        }
        // At most `MAX_BYTES` digits: no count is near the limit of the type.
        let places = i64::try_from(digits.len() - whole).unwrap_or(i64::MAX);
        let mut exponent = -places;
        if repeating.is_empty()
            && let Some((power, power_length)) = scientific(&rest[length..])
        {
            exponent += power;
            length += power_length;
        }
        let found = digits.len() + repeating.len();
        if found > MAX_DIGITS {
            return Err(ParseError::TooLong { found, limit: MAX_DIGITS });
        }
        let value = literal(&digits, &repeating, exponent);
        let written = rest[..length].to_owned();
        self.push(Kind::Number { value, digits: written, grouped }, length);
        Ok(())
    }

    /// Digits before the point, without group separators: (digits, bytes read, commas seen).
    fn integer_part(&self, rest: &str) -> (String, usize, bool) {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut digits = rest[..count].to_owned();
        let (mut length, mut commas) = (count, false);
        if !(1..=3).contains(&count) || digits.starts_with('0') {
            return (digits, length, false);
        }
        let separators = ["{,}", ",\\!", "\\,", "\\ ", "\\;", "\\:", ",", " "];
        'groups: loop {
            for separator in separators {
                let comma = separator == ",";
                if comma && (!self.grouping || self.depth > 0) {
                    continue;
                }
                let Some(next) = rest[length..].strip_prefix(separator) else { continue };
                let group = next.bytes().take_while(u8::is_ascii_digit).count();
                if group == 3 && !(separator == " " && next[3..].starts_with('/')) {
                    digits.push_str(&next[..3]);
                    length += separator.len() + 3;
                    commas |= comma;
                    continue 'groups;
                }
            }
            return (digits, length, commas);
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

/// `\overline{6}`, `\bar{6}`, `\dot{6}`, `(6)` or `333...`: the repeating digits and the bytes they take.
fn repeating_part(text: &str, fraction: &str) -> (String, usize) {
    for name in ["\\overline", "\\bar", "\\dot"] {
        if let Some(inner) = text.strip_prefix(name).and_then(group)
            && !inner.is_empty()
            && inner.bytes().all(|b| b.is_ascii_digit())
        {
            return (inner.to_owned(), name.len() + inner.len() + 2);
        }
    }
    if let Some(rest) = text.strip_prefix('(') {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count > 0 && rest[count..].starts_with(')') {
            return (rest[..count].to_owned(), count + 2);
        }
    }
    for dots in ["...", "\\ldots", "\\dots"] {
        let last = fraction.bytes().next_back().unwrap_or(b'x');
        let run = fraction.bytes().rev().take_while(|&b| b == last).count();
        if text.starts_with(dots) && run >= 3 {
            return (char::from(last).to_string(), dots.len());
        }
    }
    (String::new(), 0)
}

/// `e3`, `E-5`: the power of ten and the bytes it takes.
fn scientific(text: &str) -> Option<(i64, usize)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let sign = usize::from(rest.starts_with(['+', '-']));
    let count = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let after = rest[sign + count..].chars().next();
    if count == 0 || count > 3 || after.is_some_and(|c| c.is_alphanumeric() || c == '.') {
        return None;
    }
    Some((rest[..sign + count].trim_start_matches('+').parse().ok()?, 1 + sign + count))
}

/// `digits · 10^exponent`, and the digits that repeat for ever after them.
fn literal(digits: &str, repeating: &str, exponent: i64) -> BigRational {
    let integer = |text: &str| text.parse::<BigInt>().unwrap_or_default();
    let ten_to = |power: u64| BigInt::from(10).pow(u32::try_from(power).unwrap_or(u32::MAX));
    let scale = ten_to(exponent.unsigned_abs());
    let whole = integer(digits);
    if repeating.is_empty() {
        return match exponent {
            0 => BigRational::from_integer(whole),
            1.. => BigRational::from_integer(whole * scale),
            _ => BigRational::new(whole, scale),
        };
    }
    let nines = ten_to(repeating.len() as u64) - BigInt::one();
    BigRational::new(whole * &nines + integer(repeating), nines * scale)
}

/// Names of functions and constants written without a backslash.
const NAMES: &[&str] = &[
    "sqrt", "sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "lg", "exp", "arcsin", "arccos",
    "arctan", "abs", "pi", "tg", "ctg", "arctg", "inf", "infinity", "oo",
];

/// Short words that are no product of variables.
const SHORT_WORDS: &[&str] = &[
    "cm", "mm", "km", "kg", "mg", "ml", "ft", "mi", "yd", "lb", "lbs", "oz", "hr", "hrs", "min",
    "sec", "mph", "kmh", "kph", "sq", "deg", "rad", "per", "am", "pm", "usd", "yes", "no", "odd",
    "the", "and", "or", "to", "is", "in", "of", "an", "not", "are", "day", "days", "men", "cat",
    "cats", "dog", "dogs", "mod", "gcd", "lcm", "max", "dne", "nan", "cents", "cent", "pm", "even",
    "none", "true", "year", "pie", "pies", "egg", "eggs", "cup", "cups", "box", "toy", "toys",
    "pen", "pens", "bag", "bags", "car", "cars", "all", "if", "for", "has", "had", "he", "she",
    "we", "it", "feet", "inch", "gal", "pt", "qt", "hz", "m/s",
];

/// Whether a run of two or more letters is a word or name rather than a product of variables.
fn is_word(run: &str) -> bool {
    let lower = run.to_lowercase();
    run.chars().count() >= 4
        || !run.is_ascii()
        || NAMES.contains(&lower.as_str())
        || SHORT_WORDS.contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use proptest::prelude::*;

    use super::{Kind, tokenize};

    fn numbers(text: &str) -> Vec<BigRational> {
        let value = |kind| if let Kind::Number { value, .. } = kind { Some(value) } else { None };
        tokenize(text, true).unwrap().into_iter().filter_map(|token| value(token.kind)).collect()
    }

    fn ratio(top: i64, bottom: i64) -> BigRational {
        BigRational::new(BigInt::from(top), BigInt::from(bottom))
    }

    #[test]
    fn thousands_separators_join_and_other_commas_separate() {
        for text in
            ["1,234", "1{,}234", "1\\,234", "1 234", "1,\\!234", "1234", "1234.0", "1.234e3"]
        {
            assert_eq!(numbers(text), [ratio(1234, 1)], "{text}");
        }
        assert_eq!(numbers("1,23"), [ratio(1, 1), ratio(23, 1)]);
        assert_eq!(numbers("(1,234)"), [ratio(1, 1), ratio(234, 1)]);
    }

    #[test]
    fn repeating_decimals_are_exact() {
        for text in ["0.\\overline{3}", "0.(3)", "0.333...", "0.\\dot{3}", "0.3\\overline{3}"] {
            assert_eq!(numbers(text), [ratio(1, 3)], "{text}");
        }
        assert_eq!(numbers("0.1\\overline{6}"), [ratio(1, 6)]);
    }

    proptest! {
        /// A decimal literal is its digits over a power of ten.
        #[test]
        fn decimals_are_exact(whole in 0_i64..1_000_000, fraction in 0_i64..1000) {
            let text = format!("{whole}.{fraction:03}");
            prop_assert_eq!(numbers(&text), vec![ratio(whole * 1000 + fraction, 1000)]);
        }
    }
}
