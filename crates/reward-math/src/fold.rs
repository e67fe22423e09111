//! Unicode, HTML and Markdown spellings folded into the LaTeX and ASCII that the lexer reads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Captures;

use crate::table::{Pattern, compiled, pattern, phrases, quoted_pair};

/// Replaces Unicode mathematics by ASCII or LaTeX and drops invisible characters.
pub(crate) fn fold(text: &str) -> String {
    let text = with_circles(plain(text));
    let mut folded = String::with_capacity(text.len() + 16);
    let mut script = None;
    for c in text.chars() {
        let (next, plain) = script_character(c).unzip();
        if next != script {
            folded.extend(script.map(|_| '}'));
            folded.extend(next.into_iter().flat_map(|mark| [mark, '{']));
            script = next;
        }
        match plain {
            Some(plain) => folded.push(plain),
            None => fold_character(c, &mut folded),
        }
    }
    folded.extend(script.map(|_| '}'));
    folded
}

/// Returns (`^` or `_`, plain character) for a superscript or subscript character.
fn script_character(c: char) -> Option<(char, char)> {
    const SUPERSCRIPT: (&str, &str) = ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵏᵐˣʸᵃᵇ", "0123456789+-=()nikmxyab");
    const SUBSCRIPT: (&str, &str) = ("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₙₘₖₚₛₜᵢⱼ", "0123456789+-=()aeoxnmkpstij");
    if c.is_ascii() {
        return None;
    }
    [('^', SUPERSCRIPT), ('_', SUBSCRIPT)].into_iter().find_map(|(mark, (scripts, plain))| {
        let place = scripts.chars().position(|script| script == c)?;
        Some((mark, plain.chars().nth(place)?))
    })
}

/// Spellings of web pages and of LaTeX, each with a shorter one, in quotation marks.
static SPELLINGS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| include_str!("fold/spellings.txt").lines().filter_map(quoted_pair).collect());

/// Any of these spellings.
static SPELLED: LazyLock<Pattern> = LazyLock::new(|| {
    compiled(
        &SPELLINGS.iter().map(|(spelled, _)| regex::escape(spelled)).collect::<Vec<_>>().join("|"),
    )
});

/// The text with these spellings replaced.
fn plain(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    if !SPELLED.is_match(text) {
        return plain;
    }
    for (spelled, short) in SPELLINGS.iter() {
        if plain.contains(*spelled) {
            plain = Cow::Owned(plain.replace(spelled, short));
        }
    }
    plain
}

/// Returns `①` for `\textcircled{1}`.
fn with_circles(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("circled") {
        return text;
    }
    let circled = pattern!(r"\\(?:text)?circled\s*\{?\s*(?:\\small\s*)?([1-9])\s*\}?");
    let sign = |parts: &Captures<'_>| {
        let place = u32::from(parts[1].as_bytes()[0] - b'1');
        char::from_u32(u32::from('①') + place).map(String::from).unwrap_or_default()
    };
    Cow::Owned(circled.replace_all(&text, sign).into_owned())
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
    text.strip_prefix("``").and_then(|rest| rest.strip_suffix("''")).unwrap_or(text)
}

/// Text that the lexer reads for each character. A line of the table holds that text, a space, and the characters.
static READ_AS: LazyLock<HashMap<char, String>> = LazyLock::new(|| {
    let lines =
        include_str!("fold/characters.txt").lines().filter_map(|line| line.rsplit_once(' '));
    let pairs = lines.flat_map(|(read, characters)| {
        // A space ends the name of a command.
        let is_name = read.contains('\\') && !read.contains(' ') && !read.ends_with('}');
        let read = if is_name { format!("{read} ") } else { read.to_owned() };
        characters.chars().map(move |c| (c, read.clone()))
    });
    pairs.collect()
});

/// Appends what the lexer reads for this character.
fn fold_character(c: char, folded: &mut String) {
    match c {
        // Most characters by far.
        c if c.is_ascii_alphanumeric() => folded.push(c),
        '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{2064}'
        | '\u{fe0e}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ad}'
        | '“'
        | '”'
        | '"' => {}
        c if c == '~' || c.is_whitespace() => folded.push(' '),
        '且' => folded.push_str(" and "),
        c if c.is_ascii() => folded.push(c),
        c => match READ_AS.get(&c) {
            Some(read) => folded.push_str(read),
            None => folded.push(styled(c).unwrap_or(c)),
        },
    }
}

/// The plain character of a full-width form or of a letter or digit in one of the mathematical styles.
fn styled(c: char) -> Option<char> {
    let code = u32::from(c);
    char::from_u32(match code {
        0xff01..=0xff5e => code - 0xff01 + 0x21,
        // Thirteen alphabets of capital and small letters, then five sets of digits.
        0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            capital @ 0..26 => u32::from('A') + capital,
            small => u32::from('a') + small - 26,
        },
        0x1d7ce..=0x1d7ff => u32::from('0') + (code - 0x1d7ce) % 10,
        // Arabic, Persian, Devanagari and Bengali digits.
        0x0660..=0x0669 | 0x06f0..=0x06f9 => u32::from('0') + (code & 15),
        0x0966..=0x096f | 0x09e6..=0x09ef => u32::from('0') + (code & 15) - 6,
        0x210e => u32::from('h'),
        _ => return None,
    })
}
