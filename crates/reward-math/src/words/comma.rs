//! Decimal commas, by the language of a text.

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

/// Returns a text whose only comma stands in a decimal with a point in its place: `3,5 m`, `1.234,5`; no tuple.
pub(crate) fn with_decimal_point(text: &str) -> Option<String> {
    let (before, behind) = text.split_once(',')?;
    let digit = |c: char| c.is_ascii_digit();
    let bracketed = before.contains(['(', '[', '{']);
    let decimal = before.ends_with(digit) && behind.starts_with(digit) && !behind.contains(',');
    (decimal && !bracketed).then(|| format!("{}.{behind}", before.replace('.', "")))
}
