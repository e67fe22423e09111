//! The result of an extraction.

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
