//! Untrusted text on a terminal.

/// Replaces characters that a terminal would interpret: controls show as `·`, line breaks as `⏎`, tabs as a space.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(plain_character).collect()
}

pub(super) fn plain_character(character: char) -> char {
    match character {
        '\n' => '⏎',
        '\t' => ' ',
        // Characters that are invisible or change the direction of text would misrepresent it.
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '·',
        control if control.is_control() => '·',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_not_passed_on() {
        assert_eq!(plain("a\u{1b}[31m\u{7}b\u{9b}2J\nc\td\u{202e}"), "a·[31m·b·2J⏎c d·");
    }
}
