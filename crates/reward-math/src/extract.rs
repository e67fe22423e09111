//! Extraction of the answer from a response.
//!
//! The cost is linear in the length of any response: no search backtracks.

use std::ops::Range;

use crate::options::Options;
use crate::table::{captured, pattern};

mod bold;
mod boxes;
mod conclusion;
mod echo;
mod extracted;
mod fallback;
mod phrase;
mod turn;

pub(crate) use boxes::{all_of_last_paragraph, by_parts, listed_values};
pub(crate) use echo::Question;
pub use extracted::{Extracted, Rule};
use extracted::{Finder, first_of, only, some_text, trimmed};
pub(crate) use fallback::{gives_up, last_formula, only_number, value_of_sentence};
pub(crate) use phrase::letter_behind;

/// Marks of an answer other than a box, in their order.
const MARKED: [Finder; 7] = [
    (tag, Rule::Tag),
    (json_value, Rule::Tag),
    (hash_marks, Rule::HashMarks),
    (phrase::letter_at_the_end, Rule::Phrase),
    (phrase::last_phrase, Rule::Phrase),
    (phrase::letter_said_right, Rule::Phrase),
    (bold::at_the_end, Rule::Bold),
];

/// Extracts the answer of a response by the first rule that applies.
///
/// Ignored are the prompt that a chat template left, a later turn of the user, and closed `<think>` sections.
/// [`extract_without_echo`] also ignores repetitions of the question.
pub fn extract(response: &str, options: &Options) -> Option<Extracted> {
    match turn::own(response) {
        None => find(response, options),
        Some(own) => find(&only(response, own, &[]), options),
    }
}

/// Extracts the answer of a response, but never from its repetition of the question, of full sentences of it, or of an
/// example in it. Spaces and emphasis may differ in the repetition.
pub fn extract_without_echo(
    response: &str,
    question: &str,
    options: &Options,
) -> Option<Extracted> {
    extract_answering(response, Some(&Question::new(question)), options)
}

/// Extracts the answer of a response, without the echoes of a prepared question, if there is one.
pub(crate) fn extract_answering(
    response: &str,
    question: Option<&Question>,
    options: &Options,
) -> Option<Extracted> {
    let echoes = question.map(|question| question.echoes(response)).unwrap_or_default();
    if echoes.is_empty() {
        return extract(response, options);
    }
    // The question repeated behind an answer opens no other problem.
    extract(&only(response, 0..response.len(), &echoes), options)
}

/// Returns the text of the model's own turn, behind its closed thinking.
pub(crate) fn own_turn(response: &str) -> &str {
    turn::own(response).map_or(response, |own| &response[own])
}

fn find(response: &str, options: &Options) -> Option<Extracted> {
    let extracted = found(response, options)?;
    if phrase::stands(response, &extracted.span) {
        return Some(extracted);
    }
    // "I withdraw this. There are 10."
    let behind = phrase::withdrawal(&response[extracted.span.end..])? + extracted.span.end;
    let later = only(response, behind..response.len(), &[]);
    found(&later, options).filter(|extracted| phrase::stands(&later, &extracted.span))
}

fn found(response: &str, options: &Options) -> Option<Extracted> {
    if let Some(extracted) = boxes::last_boxes(response) {
        let behind = &response[extracted.span.end..];
        let several = response[extracted.span.clone()].contains("box");
        let correction = phrase::correction(behind, several).filter(|_| !options.strict);
        let Some(value) = correction else { return Some(extracted) };
        let span = extracted.span.end + value.start..extracted.span.end + value.end;
        return Some(Extracted::new(response, Rule::Phrase, span));
    }
    if options.strict {
        return None;
    }
    let denied = boxes::denied_boxes(response);
    if !denied.is_empty() {
        return found(&only(response, 0..response.len(), &denied), options);
    }
    let unmarked = || if options.last_number { fallback::find(response) } else { None };
    let (mut span, rule) = first_of(response, &MARKED).or_else(unmarked)?;
    if rule == Rule::Phrase
        && let Some(value) = phrase::corrected(&response[span.end..])
    {
        span = span.end + value.start..span.end + value.end;
    }
    // `"answer": null`
    if rule == Rule::Tag && matches!(&response[span.clone()], "null" | "None") {
        return None;
    }
    let quoted = rule == Rule::Tag && response[..span.start].ends_with('"');
    let Extracted { text, rule, span } = Extracted::new(response, rule, span);
    let plain = quoted.then(|| unescaped(&text)).flatten();
    Some(Extracted { text: plain.unwrap_or(text), rule, span })
}

fn tag(response: &str) -> Option<Range<usize>> {
    let end = pattern!(r"(?i-u)</answer>|\[/answer\]").find_iter(response).last()?.start();
    let start = pattern!(r"(?i-u)<answer>|\[answer\]").find_iter(&response[..end]).last()?.end();
    Some(trimmed(response, start..end))
}

fn hash_marks(response: &str) -> Option<Range<usize>> {
    let mark = response.rfind("####")? + "####".len();
    // "#### Answer" is a heading.
    let heading = pattern!(r"^[ *]*(?i:(?:final )?answer|答案)[ *:：]*\n+").find(&response[mark..]);
    let start = mark + heading.map_or(0, |heading| heading.end());
    let end = response[start..].find('\n').map_or(response.len(), |length| start + length);
    some_text(response, start..end)
}

/// Returns the value of the last `"answer":`: a text, a number or expression, the items of a list, an object.
fn json_value(response: &str) -> Option<Range<usize>> {
    let key = pattern!(r#"["'](?:final_|correct_)?answer["']\s*:\s*"#);
    let key = key.find_iter(response).last()?.end();
    let value = pattern!(
        r#"(?x)^(?: "((?:[^"\\]|\\.)*)" | '((?:[^'\\\n]|\\.)*)' | \[((?:\s*"[^"]*"\s*,?)+)\]
            | (\[(?:[^\[\]{}]|\[[^\[\]{}]*\])*\]|\{[^{}]*\})
            | ([^\s"'\[{,}][^\n}]*?)\s*(?:,\s*["']|,?\s*(?:[}\n]|$)) )"#
    );
    let inner = captured(value, &response[key..])?;
    some_text(response, key + inner.start()..key + inner.end())
}

/// Returns the text that a string of JSON stands for; backslashes of LaTeX may lack their second one.
fn unescaped(text: &str) -> Option<String> {
    let code = pattern!(r"\\u([0-9a-fA-F]{4})");
    let single = pattern!(r#"\\(?:[\\"/n]|u[0-9a-fA-F]{4})"#).replace_all(text, "");
    if text.contains("\\\\") && !single.contains('\\') {
        return serde_json::from_str(&format!("\"{text}\"")).ok();
    }
    let character = |code: &regex::Captures<'_>| {
        let number = u32::from_str_radix(&code[1], 16).ok();
        number.and_then(char::from_u32).map_or_else(|| code[0].to_owned(), String::from)
    };
    code.is_match(text).then(|| code.replace_all(text, character).into_owned())
}

/// Returns the items of a list, or the matrix of a list of rows: `[[1, 0], [0, 1]]`.
pub(crate) fn items(extracted: &Extracted) -> Option<String> {
    let inner = extracted.text.strip_prefix('[')?.strip_suffix(']')?.trim();
    let rows = pattern!(r"\[([^\[\]]*)\]").captures_iter(inner).map(|row| row[1].replace(',', "&"));
    let rows: Vec<String> = rows.collect();
    let matrix = || format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", rows.join("\\\\"));
    let text = if rows.is_empty() { inner.to_owned() } else { matrix() };
    (extracted.rule == Rule::Tag && !inner.is_empty()).then_some(text)
}
