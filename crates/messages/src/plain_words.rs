//! Parser messages without the names of Rust's types.

/// Phrases of a parser after "expected", and their plain wording.
const WORDS: [(&[&str], &str); 8] = [
    (&["u8", "u16", "u32", "u64", "usize"], "a whole number of at least 0"),
    (&["i8", "i16", "i32", "i64", "isize"], "a whole number"),
    (&["f32", "f64"], "a number"),
    (&["a boolean"], "true or false"),
    (&["path string"], "a path in quotes"),
    (&["a sequence"], "an array"),
    (&["a tuple of size", "tuple with length"], "an array of length"),
    (&["variant identifier", "field identifier"], "a name"),
];

/// Kinds of Rust type that a parser puts before the type's name, and their plain wording; a longer kind before a shorter one
/// that begins it.
const KINDS: [(&[&str], &str); 7] = [
    (&["struct variant", "struct", "internally tagged enum", "adjacently tagged enum"], "a table"),
    (&["tuple variant", "tuple struct"], "an array"),
    (&["newtype variant"], "a table of one name and its settings"),
    (&["newtype struct"], "a value"),
    (&["unit variant"], "a name"),
    (&["unit struct", "unit"], "nothing"),
    (&["enum"], "a name, or a table of one name and its settings"),
];

/// Replaces the names of Rust's types in a parser's message: `expected u64` becomes `expected a whole number of at
/// least 0`, `expected struct RolloutSection` becomes `expected a table`.
pub fn plain_words(message: &str) -> String {
    const EXPECTED: &str = "expected ";
    let message = message.replace("type: unit variant,", "type: a bare name,");
    let message = without_untagged(&message);
    let mut parts = message.split(EXPECTED);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(EXPECTED);
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let leading = |rows: &[(&[&str], &'static str)]| {
            rows.iter().find_map(|(phrases, wording)| {
                let mut rests = phrases.iter().filter_map(|phrase| part.strip_prefix(phrase));
                Some((*wording, rests.find(|rest| ends(rest))?))
            })
        };
        let of_kind = || leading(&KINDS).map(|(wording, rest)| (wording, after_type_name(rest)));
        let (wording, rest) = leading(&WORDS).or_else(of_kind).unwrap_or(("", part));
        plain.extend([wording, rest]);
    }
    plain
}

/// Cuts ` Name::Variant`, and ` with N elements` after it.
fn after_type_name(text: &str) -> &str {
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_uppercase());
    let Some(name) = text.strip_prefix(' ').filter(is_name) else { return text };
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let (name, rest) = name.split_at(end.unwrap_or(name.len()));
    if name.ends_with(':') {
        return &text[1 + name.trim_end_matches(':').len()..];
    }
    let count = rest.strip_prefix(" with ").and_then(|rest| rest.split_once(" element"));
    match count {
        Some((digits, rest)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest.strip_prefix('s').unwrap_or(rest)
        }
        _ => rest,
    }
}

/// Replaces the sentence about an enum whose variants have no names.
fn without_untagged(message: &str) -> String {
    const UNTAGGED: &str = "data did not match any variant of untagged enum";
    match message.split_once(UNTAGGED) {
        Some((before, rest)) => {
            format!("{before}the value has none of the expected forms{}", after_type_name(rest))
        }
        None => message.to_owned(),
    }
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
            ("integer `1`, expected a boolean", "integer `1`, expected true or false"),
            ("nothing of the kind", "nothing of the kind"),
            ("expected struct Model with 4 elements at line 2", "expected a table at line 2"),
            ("expected tuple struct Range with 1 element", "expected an array"),
            ("expected struct variant Loss::ClipCov: x", "expected a table: x"),
            ("expected struct Model: x", "expected a table: x"),
            ("expected enum Dtype", "expected a name, or a table of one name and its settings"),
            ("expected internally tagged enum Verdict", "expected a table"),
            (
                "invalid type: unit variant, expected newtype variant",
                "invalid type: a bare name, expected a table of one name and its settings",
            ),
            ("expected a tuple of size 2", "expected an array of length 2"),
            ("expected structure", "expected structure"),
            (
                "data did not match any variant of untagged enum Cell at line 1",
                "the value has none of the expected forms at line 1",
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(plain_words(message), expected);
        }
    }
}
