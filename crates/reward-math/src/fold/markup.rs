//! HTML, Markdown and the longer spellings of LaTeX.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::language::phrases;
use crate::table::quoted_pair;

/// Spellings of web pages and of LaTeX, each with a shorter one, in quotation marks.
static SPELLINGS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| include_str!("spellings.txt").lines().filter_map(quoted_pair).collect());

/// The text with these spellings replaced.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    for (spelled, short) in SPELLINGS.iter() {
        if plain.contains(*spelled) {
            plain = Cow::Owned(plain.replace(spelled, short));
        }
    }
    plain
}

/// The inside of Markdown's emphasis and quotes around the whole text, behind `=`, `:` and `\therefore`.
pub(crate) fn undecorated(folded: &str) -> &str {
    let mut text = folded.trim();
    for opening in phrases("before a statement") {
        if let Some(rest) = text.strip_prefix(*opening)
            && !rest.starts_with(|c: char| c.is_ascii_alphabetic())
        {
            text = rest.trim_start();
        }
    }
    for mark in ["**", "__", "*", "```", "`", "''", "'"] {
        if let Some(inner) = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark))
            && !inner.contains(mark)
            && !inner.is_empty()
        {
            text = inner.trim();
        }
    }
    // TeX's quotation marks.
    match text.strip_prefix("``").and_then(|rest| rest.strip_suffix("''")) {
        Some(inner) => inner,
        None => text,
    }
}
