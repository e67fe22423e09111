//! The wording of messages: how a person is told what there is, and what is wrong with it.
//!
//! [`counted`] writes a number and its noun, [`Problem`] a value out of range, [`in_file`] a problem at its line and
//! column, [`plain_words`] what a parser expected without the names of Rust's types, [`nearest`] the names that a
//! misspelt one may have meant, [`one_line`] an error with its causes, [`shortened`] and [`shown`] a stranger's text in it.

mod one_line;
mod plain_words;

use std::fmt::{Display, Formatter, Result};
use std::ops::Range;
use std::path::Path;

use strsim::levenshtein;

pub use one_line::one_line;
pub use plain_words::plain_words;

/// `1 node`, `2 nodes`: a number and a noun that takes an s.
///
/// ```
/// use messages::counted;
/// assert_eq!(counted(1_usize, "node"), "1 node");
/// assert_eq!(counted(0_usize, "node"), "0 nodes");
/// assert_eq!(counted(32_u64, "node"), "32 nodes");
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<bool>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(true) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Dotted path of the field.
    pub field: String,
    /// Value of the field.
    pub value: String,
    /// Allowed values.
    pub expected: String,
}

impl Display for Problem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "`{}` is {}, expected {}", self.field, self.value, self.expected)
    }
}

/// `PATH:LINE:COLUMN: problem`, at the start of a byte range of the file's text; line and column, in characters, from 1.
pub fn in_file(
    path: &Path,
    text: &str,
    span: Option<Range<usize>>,
    problem: impl Display,
) -> String {
    let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let (line, column) =
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
    format!("{}:{line}:{column}: {problem}", path.display())
}

/// Up to `count` of `known`, closest first, that are at most half of `name` away: insertions, deletions and replacements of
/// characters.
pub fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let most = name.chars().count().div_ceil(2);
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|candidate| (levenshtein(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= most)
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// Returns the first `longest` characters of a text, with `…` after them if there are more.
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns a text by [`shortened`], with control characters escaped: they may end the line of the message, or command a terminal.
pub fn shown(text: &str, longest: usize) -> String {
    let escaped = |character: char| {
        let is_control = character.is_control();
        if is_control { character.escape_debug().to_string() } else { character.to_string() }
    };
    shortened(text, longest).chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_name_comes_first_and_strangers_are_left_out() {
        assert_eq!(nearest("setps", ["seed", "steps", "micro_batch_tokens"], 1), ["steps"]);
        assert!(nearest("zzzz", ["steps"], 3).is_empty());
    }

    #[test]
    fn a_strangers_text_is_one_line_that_commands_no_terminal() {
        assert_eq!(shown("it's \"é\"\n\u{1b}[31m\t", 99), "it's \"é\"\\n\\u{1b}[31m\\t");
    }

    #[test]
    fn a_strangers_text_is_shortened() {
        assert_eq!(shown("éaé", 3), "éaé");
        assert_eq!(shown("éaéa", 3), "éaé…");
    }
}
