//! Parser messages without the names of Rust's types.

/// Phrase of a parser after "expected", and its plain wording.
const WORDS: [(&str, &str); 14] = [
    ("u8", WHOLE),
    ("u16", WHOLE),
    ("u32", WHOLE),
    ("u64", WHOLE),
    ("usize", WHOLE),
    ("i8", "a whole number"),
    ("i16", "a whole number"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("isize", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("path string", "a path in quotes"),
];

const WHOLE: &str = "a whole number of at least 0";

/// Replaces the names of Rust's types in a parser's message: `expected u64` becomes `expected a whole number of at
/// least 0`.
pub fn plain_words(message: &str) -> String {
    const EXPECTED: &str = "expected ";
    let mut parts = message.split(EXPECTED);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(EXPECTED);
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let known = WORDS.iter().find_map(|(word, wording)| {
            part.strip_prefix(word).filter(|rest| ends(rest)).map(|rest| (*wording, rest))
        });
        let of_table = || {
            let name = part.strip_prefix("struct ")?;
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            Some(("a table", &name[end.unwrap_or(name.len())..]))
        };
        let (wording, rest) = known.or_else(of_table).unwrap_or(("", part));
        plain.extend([wording, rest]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain_words;

    #[test]
    fn types_are_replaced_where_they_are_expected_and_nowhere_else() {
        let cases = [
            (
                "string \"u64\", expected u64",
                "string \"u64\", expected a whole number of at least 0",
            ),
            ("a, expected f64\n", "a, expected a number\n"),
            (
                "expected i64, expected usize",
                "expected a whole number, expected a whole number of at least 0",
            ),
            ("expected u64x, expected one of `u8`", "expected u64x, expected one of `u8`"),
            (
                "integer `1`, expected struct ModelSection for key",
                "integer `1`, expected a table for key",
            ),
            ("integer `1`, expected a boolean", "integer `1`, expected true or false"),
            ("nothing of the kind", "nothing of the kind"),
        ];
        for (message, expected) in cases {
            assert_eq!(plain_words(message), expected);
        }
    }
}
