//! Lexer of number literals: group separators, repeating decimals, scientific notation.

use dashu::{Integer, Natural, Rational};

use super::{Kind, Lexer, MAX_DIGITS};
use crate::table::pattern;
use crate::verdict::ParseError;

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> Result<(), ParseError> {
        let rest = self.rest();
        let (mut digits, mut length, grouped) = self.integer_part(rest);
        let integer_digits = digits.len();
        let mut repeating = String::new();
        let behind = &rest[length..];
        if let Some(fraction) =
            behind.strip_prefix('.').or_else(|| behind_decimal_comma(behind, &digits))
        {
            let point = behind.len() - fraction.len();
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let (repeat, repeat_length) = repeating_part(&fraction[count..], &fraction[..count]);
            // `1./3`, `150.\text{ J}`: a point without digits after it, inside a calculation or before a unit.
            let goes_on = pattern!(
                r"^(?:[/*^)]|(?:\s|\\[,;\x20])*\\(?:text|mathrm)\s*\{\s*[a-zA-Z]{1,3}[/^}])"
            );
            if count == 0 && repeat_length == 0 && goes_on.is_match(fraction) {
                length += point;
            }
            if count > 0 || repeat_length > 0 {
                digits.push_str(&fraction[..count]);
                length += point + count + repeat_length;
                repeating = repeat;
            }
            if count == 3 && repeat_length == 0 {
                let (groups, groups_length) = groups_behind_point(&fraction[count..]);
                digits.push_str(&groups);
                length += groups_length;
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
        // 1,00,000
        let lakhs =
            pattern!(r"^[0-9]{1,2}(?:(?:,|\{,\})[0-9]{2})+(?:,|\{,\})[0-9]{3}(?:[^0-9,{}]|$)");
        if self.grouping && self.depth == 0 && lakhs.is_match(rest) {
            let grouped = |c: char| c.is_ascii_digit() || matches!(c, ',' | '{' | '}');
            let written = rest.find(|c| !grouped(c)).unwrap_or(rest.len());
            return (rest[..written].replace([',', '{', '}'], ""), written, true);
        }
        // 1.234.567
        let points = pattern!(r"^[0-9]{1,3}(?:\.[0-9]{3}){2,}(?:[^0-9.]|\.?$)");
        if points.is_match(rest) {
            let written =
                rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let written = rest[..written].trim_end_matches('.');
            return (written.replace('.', ""), written.len(), false);
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

/// Returns the digits of the groups of `.000\,004\,5` behind the first, and the bytes read: three in each but the last.
fn groups_behind_point(text: &str) -> (String, usize) {
    let groups = pattern!(r"^(?:\\[,:;\x20][0-9]{3})*(?:\\,[0-9]{1,3})?");
    let groups = groups.find(text).map_or("", |groups| groups.as_str());
    // `0.125\,10^3`
    let ends = !text[groups.len()..].starts_with(|c: char| c.is_ascii_digit() || "^/.".contains(c));
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect();
    if ends { (digits(groups), groups.len()) } else { (String::new(), 0) }
}

/// Returns the text behind `{,}` if other than three digits follow: three are a group, but not behind a zero.
fn behind_decimal_comma<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let fraction = text.strip_prefix("{,}")?;
    let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0 && (count != 3 || before == "0")).then_some(fraction)
}

/// Returns the repeating digits and their length in bytes: `\overline{6}`, `\bar 6`, `\dot{1}\dot{8}`, `(6)`, `333...`.
fn repeating_part(text: &str, fraction: &str) -> (String, usize) {
    let period = pattern!(
        r"(?x)^(?: \([0-9]+\) | \\(?:overline|bar|dot) (?:\{[0-9]+\}|\s*[0-9])
        (?: [0-9]* \\dot (?:\{[0-9]+\}|\s*[0-9]) )? )"
    );
    if let Some(period) = period.find(text) {
        let digits = period.as_str().chars().filter(char::is_ascii_digit);
        return (digits.collect(), period.len());
    }
    let dots = pattern!(r"^(?:\.\.\.|\\[lc]?dots)").find(text);
    let written = dots.and_then(|dots| Some((written_period(fraction)?.to_owned(), dots.len())));
    written.unwrap_or_default()
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
    let ending = pattern!(
        r"(?x)^(?: (?:st|nd|rd|th) | \^\{(?:st|nd|rd|th)\} | \^?\\text\{(?:st|nd|rd|th)\}
        | \^\\mathrm\{(?:st|nd|rd|th)\} | \^\{\\(?:text|mathrm)\{(?:st|nd|rd|th)\}\} )"
    );
    let may_begin = text.starts_with(['s', 'n', 'r', 't', '^', '\\']);
    let length = if may_begin { ending.find(text).map_or(0, |ending| ending.len()) } else { 0 };
    if text[length..].starts_with(char::is_alphabetic) { 0 } else { length }
}

/// Returns the power of ten of `e3`, `E-5`, and the bytes read.
fn scientific(text: &str) -> Option<(i64, usize)> {
    let power = text.starts_with(['e', 'E']).then(|| pattern!(r"^.\+?(-?[0-9]{1,3})"));
    let power = power.and_then(|power| power.captures(text))?;
    let behind = text[power[0].len()..].chars().next();
    let ends = behind.is_none_or(|c| !c.is_alphanumeric() && c != '.');
    ends.then_some((power[1].parse().ok()?, power[0].len()))
}

/// Returns `digits · 10^exponent`, with `repeating` as the digits of an infinite period.
fn literal(digits: &str, repeating: &str, exponent: i64) -> Rational {
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
