//! An error and its causes as one line.

use std::error::Error;

/// Longest message, in characters: a stranger's file or server may fill it.
const LONGEST: usize = 8192;

/// The error and its causes, with a colon between two; a cause that the line ends with already is not repeated. Control characters, which
/// may come from a stranger's file or server and command a terminal, show as `·`. The middle of a message over 8,192 characters is left out.
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    let line = line.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "·");
    let place = |count| line.char_indices().nth(count).map(|(place, _)| place);
    if place(LONGEST).is_none() {
        return line;
    }
    let ends = [place(LONGEST / 2), line.char_indices().rev().nth(LONGEST / 4).map(|end| end.0)];
    let [first, last] = ends.map(|end| end.unwrap_or(line.len()));
    format!("{} … {}", &line[..first], &line[last..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Chain(String, Option<Box<Chain>>);

    impl std::fmt::Display for Chain {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl Error for Chain {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    fn chain(texts: &[&str]) -> Chain {
        let error = |cause, text: &&str| Some(Box::new(Chain((*text).to_owned(), cause)));
        *texts.iter().rfold(None, error).expect("an error")
    }

    #[test]
    fn a_cause_that_an_error_repeats_stands_there_once() {
        let error = chain(&["step 3", "a.txt: disk full", "disk full"]);
        assert_eq!(one_line(&error), "step 3: a.txt: disk full");
    }

    #[test]
    fn an_error_commands_no_terminal() {
        let error = chain(&["status 400", "\u{1b}[31mred\u{7}\r\n\tx"]);
        assert_eq!(one_line(&error), "status 400: ·[31mred··\n\tx");
    }

    /// An engine's list of 300,000 models was printed whole.
    #[test]
    fn a_strangers_text_does_not_fill_the_terminal() {
        let fits = "é".repeat(LONGEST);
        assert_eq!(one_line(&chain(&[&fits])), fits);
        let message = one_line(&chain(&["a.json", &"é".repeat(1_000_000), "expected a number"]));
        assert!(message.chars().count() <= LONGEST, "{} characters", message.chars().count());
        assert!(message.starts_with("a.json: éé") && message.ends_with("éé: expected a number"));
    }
}
