//! Tables of language in text files: one meaning a line, `name: spelling, spelling`.

use std::collections::HashMap;

/// Names by their spellings.
pub(crate) struct Table(HashMap<&'static str, &'static str>);

impl Table {
    /// Reads lines of a name and its spellings, which `separator` separates. The first of equal spellings counts.
    pub(crate) fn new(text: &'static str, separator: char) -> Self {
        let mut names = HashMap::new();
        for (name, spellings) in text.lines().filter_map(|line| line.split_once(": ")) {
            for spelling in spellings.split(separator) {
                names.entry(spelling.trim()).or_insert(name);
            }
        }
        Self(names)
    }

    /// Returns the name of a spelling.
    pub(crate) fn name(&self, spelling: &str) -> Option<&'static str> {
        self.0.get(spelling).copied()
    }
}

/// A regular expression, compiled at its first use. Its search takes time linear in the text.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).expect("a constant pattern"));
        &*PATTERN
    }};
}
pub(crate) use pattern;

/// Returns true if the list, in one text with spaces between, holds the word.
pub(crate) fn lists(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Returns true if the text begins so, in small or capital letters.
pub(crate) fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    let start = text.as_bytes().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// Returns the text without these parts.
pub(crate) fn without(text: &str, parts: &[&str]) -> String {
    parts.iter().fold(text.to_owned(), |text, part| text.replace(part, ""))
}

/// Returns the two texts in quotation marks of a line.
pub(crate) fn quoted_pair(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('"')?.strip_suffix('"')?.split_once(r#"" ""#)
}
