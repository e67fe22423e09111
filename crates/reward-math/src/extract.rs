//! Where in a response the answer stands.
//!
//! Every scanner is hand-written, runs once over the bytes and never backtracks, so the cost is linear in the
//! length of the response whatever it holds.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::options::Options;

mod boxes;
mod echo;
mod fallback;
mod phrase;
mod turn;

pub(crate) use echo::Question;
pub(crate) use fallback::only_number;

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
    /// `<answer>…</answer>`.
    Tag,
    /// `#### …` (GSM8K).
    HashMarks,
    /// "the answer is …", "Answer: …" and the like; the last one.
    Phrase,
    /// The last line is nothing but bold text, or ends in it.
    Bold,
    /// The text ends in the letter of a choice, only with [`Options::last_number`].
    LastLetter,
    /// The last formula or number, only with [`Options::last_number`].
    LastNumber,
    /// The last sentence, where there is no number in the text; only with [`Options::last_number`].
    LastSentence,
}

/// Finds the answer in a response, by the first rule that applies.
///
/// What a chat template left of the prompt, a turn of the user behind the answer, and closed `<think>` sections are
/// passed over. [`extract_without_echo`] also passes over what the response repeats of its question.
pub fn extract(response: &str, options: &Options) -> Option<Extracted> {
    match turn::own(response) {
        None => find(response, options),
        Some(own) => find(&only(response, own, &[]), options),
    }
}

/// Finds the answer in the response to a question: never inside the response's repetition of the question, of whole
/// sentences of it, or of an example in it, whatever spaces and emphasis changed on the way.
pub fn extract_without_echo(
    response: &str,
    question: &str,
    options: &Options,
) -> Option<Extracted> {
    extract_answering(response, Some(&Question::new(question)), options)
}

/// The same for a question that was prepared, if there is one.
pub(crate) fn extract_answering(
    response: &str,
    question: Option<&Question>,
    options: &Options,
) -> Option<Extracted> {
    let echoes = question.map(|question| question.echoes(response)).unwrap_or_default();
    if echoes.is_empty() {
        return extract(response, options);
    }
    let own = turn::own(response).unwrap_or(0..response.len());
    find(&only(response, own, &echoes), options)
}

/// The response with everything blank but one part, and the echoes in it blank too: offsets stay.
fn only(response: &str, own: Range<usize>, echoes: &[Range<usize>]) -> String {
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

fn find(response: &str, options: &Options) -> Option<Extracted> {
    let take = |(span, rule): (Range<usize>, Rule)| Extracted {
        text: response[span.clone()].to_owned(),
        rule,
        span,
    };
    if let Some(extracted) = boxes::last_boxes(response) {
        return Some(extracted);
    }
    if options.strict {
        return None;
    }
    tag(response)
        .map(|span| (span, Rule::Tag))
        .or_else(|| hash_marks(response).map(|span| (span, Rule::HashMarks)))
        .or_else(|| phrase::last_phrase(response).map(|span| (span, Rule::Phrase)))
        .or_else(|| phrase::letter_said_right(response).map(|span| (span, Rule::Phrase)))
        .or_else(|| bold(response).map(|span| (span, Rule::Bold)))
        .or_else(|| if options.last_number { fallback::find(response) } else { None })
        .map(take)
}

fn tag(response: &str) -> Option<Range<usize>> {
    let end = response.rfind("</answer>")?;
    let start = response[..end].rfind("<answer>")? + "<answer>".len();
    Some(trimmed(response, start..end))
}

fn hash_marks(response: &str) -> Option<Range<usize>> {
    let start = response.rfind("####")? + "####".len();
    let end = response[start..].find('\n').map_or(response.len(), |length| start + length);
    some_text(response, start..end)
}

fn bold(response: &str) -> Option<Range<usize>> {
    let trimmed_end = response.trim_end().trim_end_matches(['.', '!', ':']);
    let body = trimmed_end.strip_suffix("**")?;
    let body = body.trim_end_matches(['.', ' ']);
    let line = body.rfind('\n').map_or(0, |at| at + 1);
    let start = line + body[line..].rfind("**")? + 2;
    // "**Question:**" is a heading.
    some_text(response, start..body.len()).filter(|span| !response[span.clone()].ends_with(':'))
}

fn some_text(response: &str, span: Range<usize>) -> Option<Range<usize>> {
    let span = trimmed(response, span);
    (!span.is_empty()).then_some(span)
}

fn trimmed(response: &str, span: Range<usize>) -> Range<usize> {
    let text = &response[span.clone()];
    let start = span.start + (text.len() - text.trim_start().len());
    let text = text.trim();
    start..start + text.len()
}
