//! Decimal commas, by the language of a text.

use crate::table::pattern;

/// Frequent words of languages that write a comma before decimals, one language a line.
const LANGUAGES: &str = include_str!("comma_languages.txt");

/// Returns true if a text holds three words of a language that writes decimals with a comma.
pub(crate) fn writes_decimal_commas(text: &str) -> bool {
    const ENOUGH: usize = 3;
    let lower = text.to_lowercase();
    let count = |language: &str| {
        let known = |word: &&str| language.split(' ').any(|other| other == *word);
        lower.split(|c: char| !c.is_alphabetic()).filter(known).count()
    };
    LANGUAGES.lines().any(|language| count(language) >= ENOUGH)
}

/// Returns a text whose only comma stands in a decimal with a point in its place: `3,5 m`, `1.234,5`; no tuple. Points
/// that group digits go.
pub(crate) fn with_decimal_point(text: &str) -> Option<String> {
    let text = text.replace("{,}", ",");
    // `12.650` groups its digits.
    if pattern!(r"^[0-9]{1,3}(?:\.[0-9]{3})+$").is_match(&text) {
        return Some(text.replace('.', ""));
    }
    let (before, behind) = text.split_once(',')?;
    let digit = |c: char| c.is_ascii_digit();
    let bracketed = before.contains(['(', '[', '{']);
    let decimal = before.ends_with(digit) && behind.starts_with(digit) && !behind.contains(',');
    (decimal && !bracketed).then(|| format!("{}.{behind}", before.replace('.', "")))
}
