//! Decimal commas, by the language of a text.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::table::pattern;

/// Frequent words of languages that write a comma before decimals, with the lines of these languages.
static LANGUAGES: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut languages: HashMap<&str, Vec<usize>> = HashMap::new();
    for (language, line) in include_str!("comma_languages.txt").lines().enumerate() {
        for word in line.split(' ') {
            languages.entry(word).or_default().push(language);
        }
    }
    languages
});

/// Returns true for three words (two in Cyrillic) or the announcement of a language with decimal commas, and for `1.250,50`.
pub(crate) fn writes_decimal_commas(text: &str) -> bool {
    // Cyrillic letters are evidence of their own.
    let enough = if text.contains(|c| ('а'..='я').contains(&c)) { 2 } else { 3 };
    if pattern!(r"[0-9][. ][0-9]{3}(?:,|\{,\})[0-9]{1,2}(?:[^0-9]|$)").is_match(text) {
        return true;
    }
    let lower = text.to_lowercase();
    let label = pattern!(r"\b(?:respuesta|risposta|réponse|antwort|resposta)(?: finale?)?[\s*]*:");
    if label.is_match(&lower) {
        return true;
    }
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let words = lower.split(|c: char| !c.is_alphabetic());
    words.filter_map(|word| LANGUAGES.get(word)).flatten().any(|language| {
        let count = counts.entry(*language).or_default();
        *count += 1;
        *count >= enough
    })
}

/// Returns a text whose only comma stands in a decimal with a point in its place: `3,5 m`, `1.234,5`; points of groups go.
pub(crate) fn with_decimal_point(text: &str) -> Option<String> {
    let text = text.replace("{,}", ",").replace("\\,", " ");
    // `12.650` groups its digits.
    if pattern!(r"^[0-9]{1,3}(?:\.[0-9]{3})+$").is_match(&text) {
        return Some(text.replace('.', ""));
    }
    let text = pattern!(r"([0-9])[ \u{a0}\u{202f}]([0-9]{3})").replace_all(&text, "$1$2");
    let (before, behind) = text.split_once(',')?;
    let digit = |c: char| c.is_ascii_digit();
    let bracketed = before.contains(['(', '[', '{']);
    // 0,(3) repeats the three.
    let digits = behind.trim_start_matches('(');
    let decimal = before.ends_with(digit) && digits.starts_with(digit) && !behind.contains(',');
    (decimal && !bracketed).then(|| format!("{}.{behind}", before.replace('.', "")))
}

/// Returns `1250 €` of `1.250 €`, as languages with decimal commas write money.
pub(crate) fn without_points(text: &str) -> Option<String> {
    let money = pattern!(r"^[0-9]{1,3}(?:\.[0-9]{3})+\s*(?:€|EUR|Euro)").is_match(text);
    money.then(|| text.replace('.', ""))
}
