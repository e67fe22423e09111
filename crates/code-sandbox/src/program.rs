//! Extraction of the program from a response.

/// Returns the last complete fenced block whose language is Python or not named; `None` if there is none.
///
/// A fence is a line of at least three backticks or tildes, indented by at most three blanks. A fence of at least the
/// same length closes it. A block that is not closed does not count: it is only the beginning of a program.
pub fn program_of(response: &str) -> Option<&str> {
    let mut program = None;
    let mut open: Option<(Fence, usize)> = None;
    let mut place = 0;
    for line in response.split_inclusive('\n') {
        let (start, end) = (place, place + line.len());
        place = end;
        let fence = Fence::of(line);
        match (&open, fence) {
            (None, Some(fence)) => open = Some((fence, end)),
            (Some((opened, from)), Some(fence)) if fence.closes(opened) => {
                if opened.holds_python {
                    program = Some(&response[*from..start]);
                }
                open = None;
            }
            _ => {}
        }
    }
    program.filter(|text| !text.trim().is_empty())
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    is_bare: bool,
    holds_python: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
        let label = text.trim_start_matches(mark);
        let length = text.len() - label.len();
        let indented = line.len() - text.len();
        // Backticks later in the line make it code within a text.
        if length < 3 || indented > 3 || (mark == '`' && label.contains('`')) {
            return None;
        }
        let label = label.trim();
        let language = label.split([' ', '{', ',', ':']).next().unwrap_or_default();
        let holds_python = ["", "py", "python", "python3"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(language));
        Some(Self { mark, length, is_bare: label.is_empty(), holds_python })
    }

    fn closes(&self, opened: &Self) -> bool {
        self.is_bare && self.mark == opened.mark && self.length >= opened.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_python_block_is_the_program() {
        let response =
            "First\n```python\na = 1\n```\nbetter:\n```py\na = 2\n```\nrun it\n```sh\nls\n```\n";
        assert_eq!(program_of(response), Some("a = 2\n"));
        assert_eq!(program_of("```\nb\n```"), Some("b\n"));
        assert_eq!(program_of("~~~Python3\nb\n~~~~\n"), Some("b\n"));
        assert_eq!(program_of("```python title=x\r\nb\r\n```\r\n"), Some("b\r\n"));
    }

    #[test]
    fn fences_within_a_longer_fence_are_text() {
        let response = "````python\ns = '''\n```\n'''\n````\n";
        assert_eq!(program_of(response), Some("s = '''\n```\n'''\n"));
    }

    #[test]
    fn a_response_without_a_whole_block_has_no_program() {
        for none in [
            "",
            "print(1)",
            "```python\nprint(1)",
            "```python\n\n```",
            "```java\nint x;\n```",
            "see ```print(1)```",
            "    ```python\n    x\n    ```",
            "```",
            "```\n```",
            "`````\u{0}é\n",
            "\u{feff}```python\nx\n```",
        ] {
            assert_eq!(program_of(none), None, "{none:?}");
        }
    }
}
