//! HTML, Markdown and the longer spellings of LaTeX.

use std::borrow::Cow;

/// Spellings of web pages and of LaTeX for what has a shorter one.
const SPELLINGS: &[(&str, &str)] = &[
    ("<sup>", "^{"),
    ("</sup>", "}"),
    ("<sub>", "_{"),
    ("</sub>", "}"),
    ("<br>", " "),
    ("<br/>", " "),
    ("&nbsp;", " "),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&le;", "\\le "),
    ("&ge;", "\\ge "),
    ("&ne;", "\\ne "),
    ("&times;", "*"),
    ("&minus;", "-"),
    ("&pi;", "\\pi "),
    ("&deg;", "^\\circ "),
    ("&amp;", "&"),
    ("^{\\prime\\prime}", "''"),
    ("^{\\prime \\prime}", "''"),
    ("^{\\prime}", "'"),
    ("^\\prime", "'"),
    ("{:}", ":"),
    (" o'clock", ""),
    (" o’clock", ""),
    ("US\\$", "\\$"),
    ("US$", "$"),
    ("平方", "square "),
    ("立方", "cubic "),
];

/// The text with these spellings replaced.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    for (spelled, short) in SPELLINGS {
        if plain.contains(*spelled) {
            plain = Cow::Owned(plain.replace(spelled, short));
        }
    }
    plain
}

/// The inside of Markdown's emphasis and quotes around the whole text, behind `=`, `:` and `\therefore`.
pub(crate) fn undecorated(folded: &str) -> &str {
    const OPENINGS: &str = "\\therefore \\implies \\Rightarrow \\Longrightarrow \\rightarrow \\because \\displaystyle \\to :";
    let mut text = folded.trim();
    for opening in OPENINGS.split(' ') {
        if let Some(rest) = text.strip_prefix(opening)
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
