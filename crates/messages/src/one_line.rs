//! An error and its causes as one line.

use std::error::Error;

/// The error and its causes, with a colon between two; a cause that the line ends with already is not repeated. Control characters, which
/// may come from a stranger's file or server and command a terminal, show as `·`.
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
    line.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "·")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Chain(&'static str, Option<Box<Chain>>);

    impl std::fmt::Display for Chain {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Chain {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn a_cause_that_an_error_repeats_stands_there_once() {
        let innermost = Chain("disk full", None);
        let middle = Chain("a.txt: disk full", Some(Box::new(innermost)));
        let error = Chain("step 3", Some(Box::new(middle)));
        assert_eq!(one_line(&error), "step 3: a.txt: disk full");
    }

    #[test]
    fn an_error_commands_no_terminal() {
        let error = Chain("status 400", Some(Box::new(Chain("\u{1b}[31mred\u{7}\r\n\tx", None))));
        assert_eq!(one_line(&error), "status 400: ·[31mred··\n\tx");
    }
}
