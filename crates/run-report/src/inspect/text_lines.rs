//! Untrusted text on a terminal, and tokens in lines of a given width.

use ratatui::text::Span;

/// Replaces characters that a terminal would interpret: controls show as `·`, line breaks as `⏎`, tabs as a space.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(plain_character).collect()
}

fn plain_character(character: char) -> char {
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

/// A part of a token within one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) token: usize,
    /// Offset of its first byte in the text of all tokens.
    pub(super) start: usize,
    pub(super) text: String,
}

/// Breaks the texts of tokens at line breaks, which are shown, and where a line is full.
pub(super) fn text_lines<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    width: usize,
) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = vec![Vec::new()];
    let (mut used, mut start) = (0, 0);
    for (token, text) in texts.into_iter().enumerate() {
        for character in text.chars() {
            let shown = plain_character(character).to_string();
            let columns = Span::raw(shown.as_str()).width();
            if used + columns > width.max(1) && used > 0 {
                lines.push(Vec::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                match line.last_mut() {
                    Some(piece) if piece.token == token => piece.text.push_str(&shown),
                    _ => line.push(Piece { token, start, text: shown }),
                }
            }
            used += columns;
            start += character.len_utf8();
            if character == '\n' {
                lines.push(Vec::new());
                used = 0;
            }
        }
    }
    lines
}

/// Index of the line that shows a token; the last line if none does.
pub(super) fn line_of(lines: &[Vec<Piece>], token: usize) -> usize {
    let after = lines.iter().position(|line| line.iter().any(|piece| piece.token >= token));
    after.unwrap_or(lines.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str], width: usize) -> Vec<String> {
        let lines = text_lines(texts.iter().copied(), width);
        let line = |line: &Vec<Piece>| line.iter().map(|piece| piece.text.as_str()).collect();
        lines.iter().map(line).collect()
    }

    #[test]
    fn lines_break_at_their_width_and_at_line_breaks() {
        assert_eq!(shown(&["one ", "two\n", "three"], 6), ["one tw", "o⏎", "three"]);
        // A wide character takes two columns.
        assert_eq!(shown(&["数学", "x"], 4), ["数学", "x"]);
        assert_eq!(shown(&["数学", "x"], 1), ["数", "学", "x"]);
        assert_eq!(shown(&[], 5), [""]);
    }

    #[test]
    fn a_token_is_found_in_its_line() {
        let lines = text_lines(["one ", "", "two\n", "three"], 6);
        let line_numbers: Vec<usize> = (0..4).map(|token| line_of(&lines, token)).collect();
        assert_eq!(line_numbers, [0, 0, 0, 2]);
        assert_eq!(lines[2][0].start, 8);
    }

    #[test]
    fn what_a_terminal_obeys_is_not_passed_on() {
        assert_eq!(plain("a\u{1b}[31m\u{7}b\u{9b}2J\nc\td\u{202e}"), "a·[31m·b·2J⏎c d·");
    }
}
