//! The elements of a JSON list, one at a time: all of them at once take many times the length of the text.

use serde_json::{Deserializer, Value};

/// A text that is no list of values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonFault {
    /// Line of the text, counted from 1.
    pub(super) line: usize,
    /// Description in the words of `serde_json`, with the column.
    pub(super) problem: String,
}

/// Iterates over the elements; a fault is the last item.
#[derive(Debug)]
pub(super) struct JsonList {
    text: Vec<u8>,
    /// Place from which lines count.
    start: usize,
    position: usize,
    has_begun: bool,
    has_ended: bool,
}

impl JsonList {
    /// A list whose bracket is the first byte after `start`, blanks aside.
    pub(super) fn new(text: Vec<u8>, start: usize) -> Self {
        let mut list = Self { text, start, position: start, has_begun: false, has_ended: false };
        list.next_byte();
        list.position += 1;
        list
    }

    fn next_byte(&mut self) -> Option<u8> {
        let blanks = self.text[self.position..].iter();
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        self.position += blanks.take_while(is_blank).count();
        self.text.get(self.position).copied()
    }

    /// Line of the present place, counted from 1, and the bytes before it in that line.
    fn place(&self) -> (usize, usize) {
        let lines = self.text[self.start..self.position].split(|&byte| byte == b'\n');
        lines.fold((0, 0), |(number, _), line| (number + 1, line.len()))
    }

    /// Ends the list with a fault at the present place.
    fn fault(&mut self, problem: &str) -> JsonFault {
        self.has_ended = true;
        let (line, before) = self.place();
        JsonFault { line, problem: format!("{problem} at column {}", before + 1) }
    }

    fn element(&mut self) -> Result<Value, JsonFault> {
        let mut values = Deserializer::from_slice(&self.text[self.position..]).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.position += values.byte_offset();
                Ok(value)
            }
            None => Err(self.fault("EOF while parsing a value")),
            Some(Err(error)) => {
                self.has_ended = true;
                let (line, column) = (error.line(), error.column());
                let (line_before, before) = self.place();
                // Its first line begins within one of the text.
                let before = if line == 1 { before } else { 0 };
                let place = format!(" at line {line} column {column}");
                let here = format!(" at column {}", before + column);
                let problem = error.to_string().replace(&place, &here);
                Err(JsonFault { line: line_before + line - 1, problem })
            }
        }
    }
}

impl Iterator for JsonList {
    type Item = Result<Value, JsonFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        match (self.next_byte(), self.has_begun) {
            (Some(b']'), _) => {
                self.has_ended = true;
                self.position += 1;
                return self.next_byte().map(|_| Err(self.fault("trailing characters")));
            }
            (Some(b','), true) => {
                self.position += 1;
                if self.next_byte() == Some(b']') {
                    return Some(Err(self.fault("trailing comma")));
                }
            }
            (Some(_), true) => return Some(Err(self.fault("expected `,` or `]`"))),
            (None, _) => return Some(Err(self.fault("EOF while parsing a list"))),
            (Some(_), false) => {}
        }
        self.has_begun = true;
        Some(self.element())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Value>, JsonFault> {
        JsonList::new(text.as_bytes().to_vec(), 0).collect()
    }

    #[test]
    fn a_fault_is_told_as_serde_json_tells_it() {
        for text in [
            "[1,\n2,\n{\"a\": }]",
            "[1 2]",
            "[1,]",
            "[,1]",
            "[1]\n x",
            "[1,\n",
            "[",
            "[1",
            "[ {\"a\": 1}\n  \"b\"]",
            "[\"\u{e9}\", nul]",
            "[1e999]",
        ] {
            let expected = serde_json::from_str::<Vec<Value>>(text).unwrap_err();
            let JsonFault { line, problem } = read(text).unwrap_err();
            let (told, column) = problem.rsplit_once(" at column ").unwrap();
            let column: usize = column.parse().unwrap();
            let reference = expected.to_string();
            assert_eq!(told, reference.rsplit_once(" at line ").unwrap().0, "{text}");
            assert_eq!(line, expected.line(), "{text}: {problem}, {reference}");
            assert!(column.abs_diff(expected.column()) <= 1, "{text}: {problem}, {reference}");
        }
    }

    proptest! {
        #[test]
        fn elements_are_those_of_the_whole_list(
            elements in prop::collection::vec("[ \n]{0,2}([1-9][0-9]{0,2}|\"[a-z\\[\\],{}]{0,5}\"|\\[1, \\{\\}\\]|\\{\"a\": null\\})[ \n]{0,2}", 0..6)
        ) {
            let text = format!(" [{}] \n", elements.join(","));
            let expected: Vec<Value> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read(&text), Ok(expected));
        }

        #[test]
        fn a_text_is_taken_just_where_serde_json_takes_it(rest in "[\\[\\]{}\",: \n0-9a]{0,12}") {
            let text = format!("[{rest}");
            let expected = serde_json::from_str::<Vec<Value>>(&text);
            prop_assert_eq!(read(&text).ok(), expected.ok());
        }
    }
}
