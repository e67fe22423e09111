//! Detection of the question's text within a response.

use std::collections::HashMap;
use std::ops::Range;

/// Number of significant bytes that must agree to detect a repetition; shorter ones are chance.
const NOTICED: usize = 16;
/// Least length of a question in significant bytes; a question shorter than `NOTICED` must be repeated as a whole.
const SHORTEST: usize = 6;
/// Longest question that is searched for, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Most sentences at which a repetition may begin, and most of them with an equal beginning.
const MAX_SENTENCES: (usize, usize) = (2000, 4);
/// Number of bytes searched at the end of the response.
const MAX_RESPONSE: usize = 256 * 1024;
/// Most bytes compared in all: several times a question and a response of the greatest length.
const MAX_COMPARED: usize = 4 << 20;

/// A question, prepared for the search in responses.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The text as written.
    text: String,
    /// The text without spaces and Markdown.
    significant: Vec<u8>,
    /// Ascending offsets, in significant bytes, of sentences, lines and examples; the last is the end.
    sentences: Vec<usize>,
    /// Indices of sentences by their first bytes.
    openings: HashMap<Vec<u8>, Vec<usize>>,
    /// The first and the second bytes of sentences, which most places of a response do not have.
    first: [[bool; 256]; 2],
    /// Length of the first bytes that are compared.
    noticed: usize,
}

impl Question {
    pub(crate) fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut significant = Vec::with_capacity(text.len());
        let mut sentences = vec![0];
        let mut before = ' ';
        for (offset, c) in text.char_indices() {
            let stops = matches!(before, '.' | '?' | '!') && c.is_whitespace();
            let begins = c == '\n' || stops || matches!(before, '。' | '？' | '！');
            // "…, for example \boxed{7}": a clause that shows the format may be repeated alone.
            let shows = |clause: &str| {
                ["boxed", "####", "<answer>"].iter().any(|mark| clause.contains(mark))
            };
            let clause =
                before == ',' && text[offset..].split(['\n', ',']).next().is_some_and(shows);
            // The text of a choice belongs to its letter: "A. red".
            let last = sentences.last().copied().unwrap_or_default();
            let letter = matches!(significant[last..], [b'A'..=b'J', b'.']);
            if (begins && !letter || clause) && last != significant.len() {
                sentences.push(significant.len());
            }
            if is_significant(c) {
                significant.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            before = c;
        }
        sentences.truncate(MAX_SENTENCES.0);
        let noticed = NOTICED.min(significant.len());
        let mut openings: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        let mut first = [[false; 256]; 2];
        for (index, start) in sentences.iter().enumerate() {
            if let Some(opening) = significant.get(*start..start + noticed)
                && noticed >= SHORTEST
            {
                for (first, byte) in first.iter_mut().zip(opening) {
                    first[usize::from(*byte)] = true;
                }
                let alike = openings.entry(opening.to_vec()).or_default();
                if alike.len() < MAX_SENTENCES.1 {
                    alike.push(index);
                }
            }
        }
        if sentences.last() != Some(&significant.len()) {
            sentences.push(significant.len());
        }
        Self { text: text.to_owned(), significant, sentences, openings, first, noticed }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the ranges of the response that repeat full sentences of the question, or all of it.
    ///
    /// A single option of a choice and the content of a box in the response are no echoes: they may be the answer.
    pub(super) fn echoes(&self, response: &str) -> Vec<Range<usize>> {
        let begins = |byte: &u8| self.first[0][usize::from(*byte)];
        let (mut echoes, mut compared) = (Vec::new(), 0);
        let mut position = response.ceil_char_boundary(response.len().saturating_sub(MAX_RESPONSE));
        while compared < MAX_COMPARED {
            let Some(next) = response.as_bytes()[position..].iter().position(begins) else { break };
            position += next;
            let text = &response[position..];
            if !significant(text).nth(1).is_some_and(|byte| self.first[1][usize::from(byte)]) {
                position += 1;
                continue;
            }
            let mut opening = [0; NOTICED];
            let bytes = opening[..self.noticed].iter_mut().zip(significant(text));
            bytes.for_each(|(place, byte)| *place = byte);
            let mut length = 0;
            for index in self.openings.get(&opening[..self.noticed]).into_iter().flatten() {
                let (common, in_sentences) = self.repeated(*index, text);
                compared += common;
                length = length.max(in_sentences);
            }
            // The content of a box is the model's own answer.
            let boxed = response[..position].trim_end().ends_with('{');
            if length == 0 || boxed {
                position += 1;
                continue;
            }
            let end = position + length_of(text, length);
            echoes.push(position..end);
            position = end;
        }
        echoes
    }

    /// Returns how many bytes the text shares with the question from this sentence on, and those in full sentences.
    fn repeated(&self, index: usize, text: &str) -> (usize, usize) {
        let start = self.sentences[index];
        let rest = &self.significant[start..];
        let common = rest.iter().zip(significant(text)).take_while(|(a, b)| **a == *b).count();
        let last = self.sentences.partition_point(|sentence| *sentence <= start + common) - 1;
        let length = self.sentences[last] - start;
        let alone = last == index + 1 && self.is_option(index);
        (common, if length < self.noticed || alone { 0 } else { length })
    }

    /// Returns true for one option of a choice: `(B) 12`, `C. red`.
    fn is_option(&self, index: usize) -> bool {
        let text = &self.significant[self.sentences[index]..];
        let text = text.strip_prefix(b"$").unwrap_or(text);
        let text = text.strip_prefix(b"\\textbf{").unwrap_or(text);
        let text = text.strip_prefix(b"(").unwrap_or(text);
        matches!(text, [b'A'..=b'J', b')' | b'.' | b':', ..])
    }
}

/// Returns the bytes of the characters that a repetition must share.
fn significant(text: &str) -> impl Iterator<Item = u8> {
    let characters = text.char_indices().filter(|(_, c)| is_significant(*c));
    characters.flat_map(|(at, c)| text[at..at + c.len_utf8()].bytes())
}

/// Returns the length of the beginning of a text that has so many significant bytes.
fn length_of(text: &str, mut bytes: usize) -> usize {
    let characters = text.char_indices().filter(|(_, c)| is_significant(*c));
    let mut last = characters.skip_while(|(_, c)| {
        bytes = bytes.saturating_sub(c.len_utf8());
        bytes > 0
    });
    last.next().map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// Returns true unless the character may differ in a repetition: spaces and Markdown marks.
fn is_significant(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '*' | '>' | '`' | '"' | '“' | '”')
}
