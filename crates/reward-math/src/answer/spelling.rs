//! Preparation of the text before parsing: plain spelling, rarer notations, labels and domains.

use std::borrow::Cow;

use dashu::Rational;

use crate::language::phrases;
use crate::parser::{self, MAX_DIGITS_IN_BASE};
use crate::table::{starts_with_ignoring_case, without};
use crate::words;

/// Removes spaces and decoration, for the first rung.
pub(super) fn spelling(folded: &str) -> String {
    let mut text = folded.replace("\\left", "").replace("\\right", "").replace("\\!", "");
    for (long, short) in [("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("\\,", " "), ("\\;", " ")]
    {
        text = text.replace(long, short);
    }
    // A space ends a command (`\pi r`) and separates digits; all other spaces are ignored.
    let mut spelled = String::with_capacity(text.len());
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let ends = spelled.ends_with(char::is_alphanumeric);
        let mut plain = word.chars().filter(|c| *c != '$').peekable();
        if ends && plain.peek().is_some_and(|c| c.is_alphanumeric()) {
            spelled.push(' ');
        }
        spelled.extend(plain);
    }
    spelled
}

/// Rewrites the brackets of `<1, 2>`, and removes the name of an equation.
pub(super) fn rewritten(folded: &str) -> Cow<'_, str> {
    if let Some(inner) = folded.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'))
        && inner.contains(',')
        && !inner.contains(['<', '>'])
    {
        return Cow::Owned(format!("\\langle {inner}\\rangle "));
    }
    Cow::Borrowed(named_equation(folded).unwrap_or(folded))
}

/// Returns the equation after the name of its line or curve: `l_1: x - y + 1 = 0`.
fn named_equation(folded: &str) -> Option<&str> {
    let (name, rest) = folded.split_once(':')?;
    let plain =
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '}' | ' '));
    let short = name.len() <= 6 && name.starts_with(|c: char| c.is_ascii_alphabetic());
    (plain && short && rest.contains('=')).then(|| rest.trim_start())
}

/// Removes "(since …", ", because …" and ", which …" from the end.
pub(super) fn without_reason(folded: &str) -> &str {
    let cut = phrases("reason").iter().filter_map(|reason| folded.find(reason)).min();
    match cut {
        Some(at) if !folded[..at].trim().is_empty() => folded[..at].trim_end(),
        _ => folded,
    }
}

/// Removes `, k \in \mathbb{Z}` or `(n \in \mathbb{N}^*)` from the end.
pub(super) fn without_domain(folded: &str) -> &str {
    let Some(start) = folded.rfind("\\in").filter(|start| *start > 0) else { return folded };
    let behind = &folded[start + "\\in".len()..];
    if behind.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return folded;
    }
    let set = without(behind, &["\\mathbb", "\\mathbf", "\\mathrm", "\\text"]);
    let set = set.replace(['{', '}', ' ', '^', '_', '$'], "");
    let closed = set.ends_with(')');
    let set = set.trim_end_matches(')').trim_end_matches(['*', '+', '.']);
    if !matches!(set, "Z" | "N" | "R" | "Q" | "\\Z" | "\\N" | "\\R" | "\\Q") {
        return folded;
    }
    // Search back over the one name to a separator.
    let before = folded[..start].trim_end();
    let name = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let length = before.len() - name.len();
    let mut separated = name.trim_end();
    for space in ["\\,", "\\;", "\\:", "\\"] {
        separated = separated.strip_suffix(space).map_or(separated, str::trim_end);
    }
    let separator =
        phrases("before a domain").iter().find(|separator| separated.ends_with(**separator));
    let Some(separator) =
        separator.filter(|separator| (1..=3).contains(&length) && (**separator == "(") == closed)
    else {
        return folded;
    };
    let mut rest = separated[..separated.len() - separator.len()].trim_end();
    for ending in ["\\quad", "\\qquad", "\\ ", "\\,", "\\left", ",", ";"] {
        rest = rest.strip_suffix(ending).map_or(rest, str::trim_end);
    }
    if rest.is_empty() { folded } else { rest }
}

/// Returns the text after "the point", "approximately" and other words before the value.
pub(super) fn behind_label(folded: &str) -> Option<&str> {
    let inner = folded.strip_prefix("\\text{").or_else(|| folded.strip_prefix("\\text {"));
    let text = inner.unwrap_or(folded);
    let starts = |label: &&&str| starts_with_ignoring_case(text, label);
    let label = phrases("label").iter().filter(starts).max_by_key(|label| label.len())?;
    let rest = &text[label.len()..];
    if label.is_ascii() && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut rest = rest.trim_start_matches([' ', ':', ',', '=']);
    if inner.is_some() {
        rest = rest.strip_prefix('}')?;
    }
    let rest = rest.trim_start_matches([' ', ':', ',', '=']);
    (!rest.is_empty()).then_some(rest)
}

/// Returns the texts behind the labels of an answer in parts: `(a) 5 (b) 6`, `(i) x (ii) y`, `(1) yes; (2) no`.
pub(super) fn labelled_parts(folded: &str) -> Option<Vec<String>> {
    const LABELS: [&str; 3] = ["a b c d e f g h", "i ii iii iv v vi vii viii", "1 2 3 4 5 6 7 8"];
    let plain = folded.replace("\\text{(", "{(").replace("\\textbf{(", "{(");
    LABELS.into_iter().find_map(|labels| {
        let (mut parts, mut rest) = (Vec::new(), Some(plain.as_str()));
        let mut labels = labels.split(' ').map(|label| format!("({label})"));
        let first = labels.next()?;
        let mut text = behind_label_of_part(rest.take()?.trim_start(), &first)?;
        for label in labels {
            let next = text.match_indices(&label).find_map(|(at, _)| {
                let before = text[..at].trim_end_matches('{');
                behind_label_of_part(&text[before.len()..], &label).map(|behind| (before, behind))
            });
            let Some((part, behind)) = next else { break };
            parts.push(part);
            text = behind;
        }
        parts.push(text);
        let trimmed = |part: &str| {
            let part = part.trim().trim_end_matches([',', ';', '.', ' ', '\\']);
            let part = part.strip_suffix("\\quad").or(part.strip_suffix("and")).unwrap_or(part);
            part.trim_end_matches([',', ';', '.', ' ']).to_owned()
        };
        let parts: Vec<String> = parts.into_iter().map(trimmed).collect();
        (parts.len() > 1 && parts.iter().all(|part| !part.is_empty())).then_some(parts)
    })
}

/// Returns the text behind a label and the space that ends it; `None` for a factor in brackets.
fn behind_label_of_part<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (grouped, text) = text.strip_prefix('{').map_or((false, text), |text| (true, text));
    let mut behind = text.strip_prefix(label)?;
    if grouped {
        behind = behind.trim_start().strip_prefix('}')?;
    }
    (grouped || behind.starts_with([' ', ':', '\\', '$']))
        .then(|| behind.trim_start_matches([' ', ':']))
}

/// Parses digits in the base that a subscript names: `2A_{16}`, `(1010)_2`, `1010_{\text{two}}`, `110 base 2`.
///
/// Returns `None` if the text may mean something else.
pub(super) fn in_base(folded: &str) -> Option<Rational> {
    let (digits, base) = split_base(folded)?;
    let mut digits = digits.trim();
    digits = digits.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(digits);
    let plain = without(digits, &["\\textbf", "\\text", "\\mathrm", "{", "}", " "]);
    let letters = plain.chars().filter(char::is_ascii_uppercase).count();
    let known = plain.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
    // A letter with a subscript is a variable; the lexer reads only digits here.
    let bounded = (1..=MAX_DIGITS_IN_BASE).contains(&plain.len());
    if !known || !bounded || (letters == plain.len() && letters < 2) {
        return None;
    }
    parser::in_base(&plain, base)
}

fn split_base(folded: &str) -> Option<(&str, i32)> {
    if let Some((digits, base)) = folded.split_once('_') {
        let inner = without(base, &["\\text", "base", "{", "}", "(", ")", " "]);
        return Some((digits, base_number(&inner)?));
    }
    let (digits, base) = folded.split_once("base")?;
    let digits = digits.trim_end().trim_end_matches(['(', '{']);
    let digits = digits.strip_suffix("\\text").unwrap_or(digits).trim_end();
    let digits = digits.strip_suffix("in").unwrap_or(digits);
    Some((digits, base_number(&base.replace(['{', '}', '(', ')', ' ', '-'], ""))?))
}

fn base_number(text: &str) -> Option<i32> {
    let base = match text.parse::<i32>() {
        Ok(base) => base,
        Err(_) => i32::try_from(words::number(text)?.trunc()).ok()?,
    };
    (2..=36).contains(&base).then_some(base)
}
