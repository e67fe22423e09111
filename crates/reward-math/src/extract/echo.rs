//! What a response repeats of its question.

use std::collections::HashMap;
use std::ops::Range;

/// Significant bytes by which a repetition is noticed; shorter ones are chance.
const NOTICED: usize = 16;
/// A shorter question is noticed as a whole, down to this length.
const SHORTEST: usize = 6;
/// Longest question that is looked for, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Sentences at which a repetition may begin, and those of them that begin alike.
const MAX_SENTENCES: (usize, usize) = (2000, 4);
/// Bytes of the response that are looked through, its last ones.
const MAX_RESPONSE: usize = 256 * 1024;
/// Bytes that are compared in all, as many as a question and a response of the greatest length have several times over.
const MAX_COMPARED: usize = 4 << 20;

/// A question, ready to be found again in responses.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The text without spaces and Markdown.
    significant: Vec<u8>,
    /// The significant offsets at which sentences, lines and examples begin, rising; the last is the end.
    sentences: Vec<usize>,
    /// Sentences by their first bytes.
    openings: HashMap<Vec<u8>, Vec<usize>>,
    /// How many bytes that is.
    noticed: usize,
}

impl Question {
    pub(crate) fn new(text: &str) -> Self {
        let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let text = &text[..end.unwrap_or(0)];
        let mut significant = Vec::with_capacity(text.len());
        let mut sentences = vec![0];
        let mut before = ' ';
        for (at, c) in text.char_indices() {
            let stops = matches!(before, '.' | '?' | '!') && c.is_whitespace();
            let begins = c == '\n' || stops || matches!(before, '。' | '？' | '！');
            // "…, for example \boxed{7}": a clause that shows the format may be repeated by itself.
            let clause = before == ',' && is_format(&text[at..]);
            if (begins || clause) && sentences.last() != Some(&significant.len()) {
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
        for (index, start) in sentences.iter().enumerate() {
            if let Some(opening) = significant.get(*start..start + noticed)
                && noticed >= SHORTEST
            {
                let alike = openings.entry(opening.to_vec()).or_default();
                if alike.len() < MAX_SENTENCES.1 {
                    alike.push(index);
                }
            }
        }
        if sentences.last() != Some(&significant.len()) {
            sentences.push(significant.len());
        }
        Self { significant, sentences, openings, noticed }
    }

    /// Where the response repeats whole sentences of the question, or all of it. A single option of a choice is no echo:
    /// it may be the answer; nor is what a box of the response holds.
    pub(super) fn echoes(&self, response: &str) -> Vec<Range<usize>> {
        let mut echoes = Vec::new();
        if self.openings.is_empty() {
            return echoes;
        }
        let from = response.len().saturating_sub(MAX_RESPONSE);
        let from = (from..response.len()).find(|at| response.is_char_boundary(*at)).unwrap_or(from);
        let mut bytes = Vec::with_capacity(response.len() - from);
        let mut places: Vec<usize> = Vec::with_capacity(response.len() - from);
        for (at, c) in response[from..].char_indices().filter(|(_, c)| is_significant(*c)) {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            places.resize(bytes.len(), from + at);
        }
        let (mut at, mut compared) = (0, 0);
        while at + self.noticed <= bytes.len() && compared < MAX_COMPARED {
            let found = self.openings.get(&bytes[at..at + self.noticed]);
            let mut length = 0;
            for index in found.into_iter().flatten() {
                let (common, whole) = self.repeated(*index, &bytes[at..]);
                compared += common;
                length = length.max(whole);
            }
            // What a box holds is the model's own.
            let boxed = response[..places[at]].trim_end().ends_with('{');
            if length == 0 || boxed {
                at += 1;
                continue;
            }
            let last = at + length - 1;
            let width = response[places[last]..].chars().next().map_or(1, char::len_utf8);
            echoes.push(places[at]..places[last] + width);
            at += length;
        }
        echoes
    }

    /// Bytes that the text shares with the question from this sentence on, and those of them in whole sentences.
    fn repeated(&self, index: usize, text: &[u8]) -> (usize, usize) {
        let start = self.sentences[index];
        let rest = &self.significant[start..];
        let common = rest.iter().zip(text).take_while(|(a, b)| a == b).count();
        let last = self.sentences.partition_point(|sentence| *sentence <= start + common) - 1;
        let length = self.sentences[last] - start;
        let alone = last == index + 1 && self.is_option(index);
        (common, if length < self.noticed || alone { 0 } else { length })
    }

    /// `(B) 12`, `C. red`: one option of a choice.
    fn is_option(&self, index: usize) -> bool {
        let text = &self.significant[self.sentences[index]..];
        let text = text.strip_prefix(b"$").unwrap_or(text);
        let text = text.strip_prefix(b"\\textbf{").unwrap_or(text);
        let text = text.strip_prefix(b"(").unwrap_or(text);
        matches!(text, [b'A'..=b'J', b')' | b'.' | b':', ..])
    }
}

/// Whether a clause shows how an answer is to be marked.
fn is_format(text: &str) -> bool {
    let clause = text.split(['\n', ',']).next().unwrap_or_default();
    ["boxed", "####", "<answer>"].iter().any(|mark| clause.contains(mark))
}

/// Spaces and the marks of Markdown may differ in a repetition.
fn is_significant(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '*' | '>' | '`' | '"' | '“' | '”')
}
