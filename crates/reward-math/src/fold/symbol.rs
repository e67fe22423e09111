//! Single characters of Unicode and their names in LaTeX.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Text that the lexer reads for each character. A line of the table holds that text, a space, and the characters.
static READ_AS: LazyLock<HashMap<char, String>> = LazyLock::new(|| {
    let lines = include_str!("characters.txt").lines().filter_map(|line| line.rsplit_once(' '));
    let pairs = lines.flat_map(|(read, characters)| {
        // A space ends the name of a command.
        let is_name = read.contains('\\') && !read.contains(' ') && !read.ends_with('}');
        let read = if is_name { format!("{read} ") } else { read.to_owned() };
        characters.chars().map(move |c| (c, read.clone()))
    });
    pairs.collect()
});

/// Appends what the lexer reads for this character.
pub(super) fn fold_character(c: char, folded: &mut String) {
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
        '~' => folded.push(' '),
        c if c.is_whitespace() => folded.push(' '),
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
        0x210e => u32::from('h'),
        _ => return None,
    })
}
