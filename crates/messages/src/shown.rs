//! A stranger's text within a message.

/// Returns the first `longest` characters of a text, with control characters escaped: they may end the line of the message, or
/// command a terminal.
pub fn shown(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    for (number, character) in text.chars().enumerate() {
        if number == longest {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_that_commands_no_terminal() {
        assert_eq!(shown("it's \"é\"\n\u{1b}[31m\t", 99), "it's \"é\"\\n\\u{1b}[31m\\t");
    }

    #[test]
    fn it_is_shortened() {
        assert_eq!(shown("éaé", 3), "éaé");
        assert_eq!(shown("éaéa", 3), "éaé…");
    }
}
