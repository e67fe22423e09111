//! Lexer of number literals: group separators, repeating decimals, scientific notation.

use dashu::{Integer, Natural, Rational};

use super::{Kind, Lexer, MAX_DIGITS, group};
use crate::verdict::ParseError;

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> Result<(), ParseError> {
        let rest = self.rest();
        let (mut digits, mut length, grouped) = self.integer_part(rest);
        let integer_digits = digits.len();
        let mut repeating = String::new();
        let behind = &rest[length..];
        if let Some(fraction) = behind.strip_prefix('.').or_else(|| behind_decimal_comma(behind)) {
            let point = behind.len() - fraction.len();
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let (repeat, repeat_length) = repeating_part(&fraction[count..], &fraction[..count]);
            // `1./3`: a point without digits after it, inside a calculation.
            if count == 0 && repeat_length == 0 && fraction.starts_with(['/', '*', '^', ')']) {
                length += point;
            }
            if count > 0 || repeat_length > 0 {
                digits.push_str(&fraction[..count]);
                length += point + count + repeat_length;
                repeating = repeat;
            }
        }
        // At most `MAX_BYTES` digits: no count is near the limit of the type.
        let places = i64::try_from(digits.len() - integer_digits).unwrap_or(i64::MAX);
        let mut exponent = -places;
        if repeating.is_empty()
            && let Some((power, power_length)) = scientific(&rest[length..])
        {
            exponent += power;
            length += power_length;
        }
        let digit_count = digits.len() + repeating.len();
        if digit_count > MAX_DIGITS {
            return Err(ParseError::TooLong { found: digit_count, limit: MAX_DIGITS });
        }
        let value = literal(&digits, &repeating, exponent);
        let written = rest[..length].to_owned();
        length += ordinal_ending(&rest[length..]);
        self.push(Kind::Number { value, digits: written, grouped }, length);
        Ok(())
    }

    /// Returns the digits before the point without group separators, the bytes read, and whether commas occurred.
    fn integer_part(&self, rest: &str) -> (String, usize, bool) {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut digits = rest[..count].to_owned();
        let (mut length, mut commas) = (count, false);
        if !(1..=3).contains(&count) || digits.starts_with('0') {
            return (digits, length, false);
        }
        let separators = ["{,}", ",\\! ", ",\\!", "\\,", "\\ ", "\\;", "\\:", ",", " "];
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

/// Returns the text behind `{,}` if other than three digits follow: three are a group.
fn behind_decimal_comma(text: &str) -> Option<&str> {
    let fraction = text.strip_prefix("{,}")?;
    let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0 && count != 3).then_some(fraction)
}

/// Returns the repeating digits and their length in bytes: `\overline{6}`, `\bar 6`, `\dot{1}\dot{8}`, `(6)`, `333...`.
fn repeating_part(text: &str, fraction: &str) -> (String, usize) {
    for name in ["\\overline", "\\bar"] {
        if let Some((digits, length)) = text.strip_prefix(name).and_then(digit_argument) {
            return (digits.to_owned(), name.len() + length);
        }
    }
    if let Some(found) = between_dots(text) {
        return found;
    }
    if let Some(rest) = text.strip_prefix('(') {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count > 0 && rest[count..].starts_with(')') {
            return (rest[..count].to_owned(), count + 2);
        }
    }
    for dots in ["...", "\\ldots", "\\dots", "\\cdots"] {
        if text.starts_with(dots)
            && let Some(period) = written_period(fraction)
        {
            return (period.to_owned(), dots.len());
        }
    }
    (String::new(), 0)
}

/// Returns the digits in braces, or one digit after spaces, and the bytes read.
fn digit_argument(text: &str) -> Option<(&str, usize)> {
    if let Some(inner) = group(text) {
        let plain = !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_digit());
        return plain.then_some((inner, inner.len() + 2));
    }
    let trimmed = text.trim_start();
    let spaces = text.len() - trimmed.len();
    trimmed.starts_with(|c: char| c.is_ascii_digit()).then(|| (&trimmed[..1], spaces + 1))
}

/// Returns the period with dots over its first and last digit, or over its only one, and the bytes read.
fn between_dots(text: &str) -> Option<(String, usize)> {
    let (first, mut length) = text.strip_prefix("\\dot").and_then(digit_argument)?;
    length += "\\dot".len();
    let plain = text[length..].bytes().take_while(u8::is_ascii_digit).count();
    let last = text[length + plain..].strip_prefix("\\dot").and_then(digit_argument);
    let Some((last, last_length)) = last else { return Some((first.to_owned(), length)) };
    let period = format!("{first}{}{last}", &text[length..length + plain]);
    Some((period, length + plain + "\\dot".len() + last_length))
}

/// Returns the digits that repeat before an ellipsis.
///
/// One digit must be written three times. A longer period must be written three times, or twice with nothing before it.
/// `2.718281828…` does not repeat.
fn written_period(fraction: &str) -> Option<&str> {
    const LONGEST: usize = 12;
    let bytes = fraction.as_bytes();
    (1..=LONGEST.min(bytes.len() / 2)).find_map(|length| {
        let period = &bytes[bytes.len() - length..];
        let times = bytes.rchunks_exact(length).take_while(|chunk| *chunk == period).count();
        let fills_fraction = times * length == bytes.len();
        (times >= 3 || length > 1 && times == 2 && fills_fraction)
            .then(|| &fraction[fraction.len() - length..])
    })
}

/// Returns the length of the "th" in `15th`, in bytes, with any braces around it.
fn ordinal_ending(text: &str) -> usize {
    const AROUND: [(&str, &str); 7] = [
        ("", ""),
        ("^{", "}"),
        ("^{\\text{", "}}"),
        ("^{\\mathrm{", "}}"),
        ("^\\text{", "}"),
        ("^\\mathrm{", "}"),
        ("\\text{", "}"),
    ];
    let ending = |text: &str| ["st", "nd", "rd", "th"].into_iter().find(|e| text.starts_with(e));
    let length = |(open, close): (&str, &str)| {
        let inner = text.strip_prefix(open)?;
        let rest = inner.strip_prefix(ending(inner)?)?.strip_prefix(close)?;
        (!rest.starts_with(char::is_alphabetic)).then_some(text.len() - rest.len())
    };
    AROUND.into_iter().find_map(length).unwrap_or(0)
}

/// Returns the power of ten of `e3`, `E-5`, and the bytes read.
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

/// Returns `digits · 10^exponent`, with `repeating` as the digits of an infinite period.
fn literal(digits: &str, repeating: &str, exponent: i64) -> Rational {
    if exponent == 0
        && repeating.is_empty()
        && let Ok(small) = digits.parse::<u64>()
    {
        return Rational::from(small);
    }
    let integer = |text: &str| text.parse::<Integer>().unwrap_or_default();
    let ten_to = |power: usize| Natural::from(10_u8).pow(power);
    let scale = ten_to(usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX));
    let (mut top, mut bottom) = (integer(digits), Natural::ONE);
    if !repeating.is_empty() {
        bottom = ten_to(repeating.len()) - Natural::ONE;
        top = top * &bottom + integer(repeating);
    }
    if exponent > 0 {
        return Rational::from(top * scale);
    }
    Rational::from_parts(top, bottom * scale)
}
