//! Language in text files: lists of phrases, names by their spellings, and patterns that hold such phrases.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::LazyLock;

use regex::{Captures, Match, Regex, Replacer};

/// Phrases by the name of their list: a line of `language.txt` holds a name, and its phrases between bars.
static LISTS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lists = include_str!("language.txt").lines().filter_map(|line| line.split_once(": "));
    lists.map(|(name, phrases)| (name, phrases.split('|').collect())).collect()
});

pub(crate) fn phrases(name: &str) -> &'static [&'static str] {
    LISTS.get(name).map_or(&[], Vec::as_slice)
}

/// Returns the phrase behind another in a list of pairs.
pub(crate) fn paired(name: &str, phrase: &str) -> Option<&'static str> {
    phrases(name).chunks_exact(2).find(|pair| pair[0] == phrase).map(|pair| pair[1])
}

/// Returns true if a phrase of the list stands in the text.
pub(crate) fn mentions(name: &str, text: &str) -> bool {
    phrases(name).iter().any(|phrase| text.contains(phrase))
}

/// Names by their spellings: a line of a text file holds `name: spelling spelling`.
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

    pub(crate) fn name(&self, spelling: &str) -> Option<&'static str> {
        self.0.get(spelling).copied()
    }
}

/// A regular expression, compiled at its first use; see [`compiled`]. Its search takes time linear in the text.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: std::sync::LazyLock<crate::table::Pattern> =
            std::sync::LazyLock::new(|| crate::table::compiled($text));
        &*PATTERN
    }};
}
pub(crate) use pattern;

/// A regular expression that mostly matches nothing: groups are allocated for a match alone.
pub(crate) struct Pattern(Regex);

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.0
    }
}

impl Pattern {
    pub(crate) fn captures<'a>(&self, text: &'a str) -> Option<Captures<'a>> {
        self.0.is_match(text).then(|| self.0.captures(text))?
    }

    pub(crate) fn replace_all<'a>(&self, text: &'a str, by: impl Replacer) -> Cow<'a, str> {
        if self.0.is_match(text) { self.0.replace_all(text, by) } else { Cow::Borrowed(text) }
    }
}

/// Compiles a pattern in which `‹copula›` stands for any phrase of that list.
pub(crate) fn compiled(text: &str) -> Pattern {
    let parts = text.split(['‹', '›']).enumerate();
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => part.to_owned(),
        _ => phrases(part).iter().map(|phrase| regex::escape(phrase)).collect::<Vec<_>>().join("|"),
    };
    Pattern(Regex::new(&parts.map(part).collect::<String>()).expect("a constant pattern"))
}

/// Returns what the first group of a pattern holds that takes part in its first match.
pub(crate) fn captured<'a>(pattern: &Pattern, text: &'a str) -> Option<Match<'a>> {
    pattern.captures(text)?.iter().skip(1).flatten().next()
}

/// Returns the place of what the first group of a pattern holds; the pattern ends in `\s*$` and reads the last two lines.
///
/// A long text is not searched from its start.
pub(crate) fn captured_at_end(pattern: &Pattern, text: &str) -> Option<Range<usize>> {
    let breaks = text.trim_end().rmatch_indices('\n');
    // What stands before the first of these lines decides whether a sentence begins there.
    let start = breaks
        .into_iter()
        .nth(1)
        .map_or(0, |(at, _)| text.floor_char_boundary(at.saturating_sub(1)));
    let inner = captured(pattern, &text[start..])?;
    Some(start + inner.start()..start + inner.end())
}

/// Returns what the first group of a pattern holds; all of the text if there is no match.
pub(crate) fn unwrapped<'a>(pattern: &Pattern, text: &'a str) -> &'a str {
    captured(pattern, text).map_or(text, |inner| inner.as_str())
}

/// Returns true if the list, in one text with spaces between, holds the word.
pub(crate) fn lists(list: &str, word: &str) -> bool {
    list.as_bytes().split(|byte| *byte == b' ').any(|known| known == word.as_bytes())
}

/// Returns true if the text begins so, in small or capital letters.
pub(crate) fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    let start = text.as_bytes().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// Returns the item, if there is exactly one.
pub(crate) fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

/// Returns the last bytes of a text, from the beginning of a character on.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// Returns the text without these parts.
pub(crate) fn without(text: &str, parts: &[&str]) -> String {
    parts.iter().fold(text.to_owned(), |text, part| text.replace(part, ""))
}

/// Returns the two texts in quotation marks of a line.
pub(crate) fn quoted_pair(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('"')?.strip_suffix('"')?.split_once(r#"" ""#)
}
