//! The result of an extraction, and parts of a response.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// An answer and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// The answer as written, without its box or phrase.
    pub text: String,
    /// The rule that found it.
    pub rule: Rule,
    /// Byte range in the response that `text` was taken from.
    pub span: Range<usize>,
}

impl Extracted {
    pub(super) fn new(response: &str, rule: Rule, span: Range<usize>) -> Self {
        Self { text: response[span.clone()].to_owned(), rule, span }
    }
}

/// The ways to mark an answer, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// `\boxed{…}` or `\fbox{…}`, or `\boxed 7`; the last one that is closed.
    Box,
    /// `<answer>…</answer>`, or `"answer": …` of an object in JSON.
    Tag,
    /// `#### …` (GSM8K).
    HashMarks,
    /// "the answer is …", "Answer: …" and the like; the last one.
    Phrase,
    /// The last line is nothing but bold text, or ends in it.
    Bold,
    /// All of the text is one value or structure, only with [`crate::Options::last_number`].
    Whole,
    /// The text ends in the letter of a choice, only with [`crate::Options::last_number`].
    LastLetter,
    /// The last formula or number, only with [`crate::Options::last_number`].
    LastNumber,
    /// The last sentence, where there is no number in the text; only with [`crate::Options::last_number`].
    LastSentence,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name is the serialised one.
        self.serialize(formatter)
    }
}

/// A way to find an answer.
pub(super) type Find = fn(&str) -> Option<Range<usize>>;

/// A way to find an answer, and its name.
pub(super) type Finder = (Find, Rule);

/// Returns what the first rule finds that finds anything.
pub(super) fn first_of(response: &str, rules: &[Finder]) -> Option<(Range<usize>, Rule)> {
    rules.iter().find_map(|(find, rule)| Some((find(response)?, *rule)))
}

/// The response with everything blank but one part, and the echoes in it blank too: offsets stay.
pub(super) fn only(response: &str, own: Range<usize>, echoes: &[Range<usize>]) -> String {
    let mut bytes = response.as_bytes().to_vec();
    for blank in echoes.iter().chain([&(0..own.start), &(own.end..response.len())]) {
        for byte in &mut bytes[blank.clone()] {
            // Lines stay lines.
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The part without space around it, if anything is left.
pub(super) fn some_text(response: &str, span: Range<usize>) -> Option<Range<usize>> {
    let span = trimmed(response, span);
    (!span.is_empty()).then_some(span)
}

/// The part without space around it.
pub(super) fn trimmed(response: &str, span: Range<usize>) -> Range<usize> {
    let text = &response[span.clone()];
    let start = span.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}
