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

#[cfg(test)]
mod tests {
    use super::{with_decimal_point, writes_decimal_commas};

    #[test]
    fn languages_are_told_by_their_words() {
        assert!(writes_decimal_commas("Die Lösung lautet also 3,5, und das ist alles."));
        assert!(writes_decimal_commas("On obtient donc x, et la réponse est 3,5."));
        assert!(!writes_decimal_commas("The answer is 3,5, as it is the set of both."));
        assert!(!writes_decimal_commas("3,5"));
    }

    #[test]
    fn one_comma_within_a_number_is_a_point() {
        for (text, pointed) in [
            ("3,5", Some("3.5")),
            ("-1.234,5 m", Some("-1234.5 m")),
            ("(3,5)", None),
            ("3, 5", None),
            ("1,2,3", None),
            ("5", None),
        ] {
            assert_eq!(with_decimal_point(text).as_deref(), pointed, "{text}");
        }
    }
}
