//! Where in a response the answer stands.
//!
//! Every scanner is hand-written, runs once over the bytes and never backtracks, so the cost is linear in the
//! length of the response whatever it holds.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::options::Options;

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
    /// The last formula or number, only with [`Options::last_number`].
    LastNumber,
}

/// Finds the answer in a response, by the first rule that applies.
pub fn extract(response: &str, options: &Options) -> Option<Extracted> {
    let take = |(span, rule): (Range<usize>, Rule)| Extracted {
        text: response[span.clone()].to_owned(),
        rule,
        span,
    };
    if let Some(span) = last_box(response) {
        return Some(take((span, Rule::Box)));
    }
    if options.strict {
        return None;
    }
    tag(response)
        .map(|span| (span, Rule::Tag))
        .or_else(|| hash_marks(response).map(|span| (span, Rule::HashMarks)))
        .or_else(|| phrase(response).map(|span| (span, Rule::Phrase)))
        .or_else(|| bold(response).map(|span| (span, Rule::Bold)))
        .or_else(|| {
            if options.last_number { last_number(response) } else { None }
                .map(|span| (span, Rule::LastNumber))
        })
        .map(take)
}

/// The content of the last closed box.
fn last_box(response: &str) -> Option<Range<usize>> {
    let bytes = response.as_bytes();
    // One forward pass matches every brace, so many unclosed boxes still cost linear time.
    let closing = matching_braces(bytes);
    let mut end = response.len();
    while let Some(at) = response[..end].rfind("box") {
        end = at;
        let name = if response[at..].starts_with("boxed") && response[..at].ends_with('\\') {
            5
        } else if response[..at].ends_with("\\f") {
            3
        } else {
            continue;
        };
        // An empty box is the format quoted from the question, not an answer.
        if let Some(span) = box_content(response, at + name, &closing)
            && !response[span.clone()].trim().is_empty()
        {
            return Some(span);
        }
    }
    None
}

fn box_content(response: &str, start: usize, closing: &[(usize, usize)]) -> Option<Range<usize>> {
    let rest = &response[start..];
    let open = start + (rest.len() - rest.trim_start().len());
    let first = response[open..].chars().next()?;
    if first == '{' {
        let index = closing.binary_search_by_key(&open, |&(open, _)| open).ok()?;
        return Some(open + 1..closing[index].1);
    }
    // `\boxed 7`: TeX takes one token; a reader takes the number.
    if open == start && first.is_ascii_alphabetic() {
        return None;
    }
    let word = response[open..]
        .find(|c: char| c.is_whitespace() || c == '$')
        .map_or(response.len(), |length| open + length);
    let word = response[open..word].trim_end_matches(['.', ',', ';']);
    (word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        || word.len() == 1)
        .then(|| open..open + word.len())
}

/// Positions of each `{` that is closed, with its `}`, ordered by the opening one.
fn matching_braces(bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    let mut escaped = false;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\\' => {
                escaped = !escaped;
                continue;
            }
            b'{' if !escaped => open.push(at),
            b'}' if !escaped => {
                if let Some(start) = open.pop() {
                    pairs.push((start, at));
                }
            }
            _ => {}
        }
        escaped = false;
    }
    pairs.sort_unstable();
    pairs
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

/// The last of the phrases that announce an answer.
fn phrase(response: &str) -> Option<Range<usize>> {
    let mut end = response.len();
    loop {
        let (at, after) = last_phrase(&response[..end])?;
        if let Some(span) = announced(response, after) {
            return Some(span);
        }
        end = at;
    }
}

/// Start and end of the last "answer is", "answer:" or their like.
fn last_phrase(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let word = b"answer";
    let mut at = bytes.len().checked_sub(word.len())?;
    loop {
        if bytes[at..at + word.len()].eq_ignore_ascii_case(word) {
            let after = at + word.len();
            if let Some(length) = announcement(&text[after..]) {
                return Some((at, after + length));
            }
        }
        at = at.checked_sub(1)?;
    }
}

/// How much of the text after "answer" belongs to the announcement, if it is one.
fn announcement(rest: &str) -> Option<usize> {
    let mut at = rest.find(|c: char| c != '*' && c != ' ' && c != '_').unwrap_or(rest.len());
    for filler in ["to the problem", "to this problem", "to the question", "choice"] {
        if starts_with_ignoring_case(&rest[at..], filler) {
            at += filler.len();
            at += rest[at..].len() - rest[at..].trim_start_matches(['*', ' ', '_']).len();
        }
    }
    let mark = ["is:", "is :", "is", "=", ":", "："]
        .into_iter()
        .find(|mark| starts_with_ignoring_case(&rest[at..], mark))?;
    let end = at + mark.len();
    let next = rest[end..].chars().next();
    if mark == "is" && next.is_some_and(char::is_alphanumeric) {
        return None;
    }
    Some(end)
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.as_bytes()
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// The answer that follows a phrase: a formula, or text up to the end of the sentence.
fn announced(response: &str, start: usize) -> Option<Range<usize>> {
    let rest = &response[start..];
    let skipped = rest.find(|c: char| !c.is_whitespace() && c != '*' && c != ':')?;
    let start = start + skipped;
    // Only the same or the next line can hold it.
    if response[start - skipped..start].matches('\n').count() > 2 {
        return None;
    }
    if let Some(formula) = formula_at(response, start) {
        return some_text(response, formula);
    }
    let line = response[start..].find('\n').map_or(response.len(), |length| start + length);
    some_text(response, start..sentence_end(response, start..line))
}

/// The inside of the formula that starts here.
fn formula_at(response: &str, start: usize) -> Option<Range<usize>> {
    for (open, close) in [("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]"), ("$", "$")] {
        if response[start..].starts_with(open) {
            let from = start + open.len();
            let length = response[from..].find(close)?;
            return Some(from..from + length);
        }
    }
    None
}

fn sentence_end(response: &str, line: Range<usize>) -> usize {
    let text = &response[line.clone()];
    let mut end = text.len();
    for stop in [". ", "**", ", because", ", since", " because ", " since ", ", so ", ", which "] {
        if let Some(at) = text[..end].find(stop) {
            end = at;
        }
    }
    line.start + end
}

fn bold(response: &str) -> Option<Range<usize>> {
    let trimmed_end = response.trim_end().trim_end_matches(['.', '!', ':']);
    let body = trimmed_end.strip_suffix("**")?;
    let body = body.trim_end_matches(['.', ' ']);
    let line = body.rfind('\n').map_or(0, |at| at + 1);
    let start = line + body[line..].rfind("**")? + 2;
    some_text(response, start..body.len())
}

/// The last formula, else the last number.
fn last_number(response: &str) -> Option<Range<usize>> {
    if let Some(formula) = last_formula(response) {
        return Some(formula);
    }
    let bytes = response.as_bytes();
    let end = bytes.iter().rposition(u8::is_ascii_digit)? + 1;
    let mut start = end;
    while start > 0
        && (bytes[start - 1].is_ascii_digit() || matches!(bytes[start - 1], b'.' | b',' | b'/'))
    {
        start -= 1;
    }
    while start < end && !bytes[start].is_ascii_digit() && bytes[start] != b'.' {
        start += 1;
    }
    let before = start.checked_sub(2).map(|at| bytes[at]);
    if start > 0 && bytes[start - 1] == b'-' && !before.is_some_and(|b| b.is_ascii_alphanumeric()) {
        start -= 1;
    }
    let glued =
        |at: Option<&u8>| at.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if glued(bytes.get(end)) || (start > 0 && glued(bytes.get(start - 1))) {
        return None;
    }
    let percent = if bytes.get(end) == Some(&b'%') { end + 1 } else { end };
    Some(start..percent)
}

/// The last `$…$`, `\\(…\\)` or `\\[…\\]` with no digit behind it.
fn last_formula(response: &str) -> Option<Range<usize>> {
    let (close, end) = ["$$", "$", "\\)", "\\]"]
        .into_iter()
        .filter_map(|close| response.rfind(close).map(|at| (close, at)))
        .max_by_key(|&(close, at)| (at + close.len(), close.len()))?;
    let open = match close {
        "\\)" => "\\(",
        "\\]" => "\\[",
        dollars => dollars,
    };
    let start = response[..end].rfind(open)? + open.len();
    let after = &response[end + close.len()..];
    if after.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let inner = some_text(response, start..end)?;
    // The last side of a calculation is its result.
    let text = &response[inner.clone()];
    let cut = text.rfind('=').filter(|_| text.contains(|c: char| c.is_ascii_digit()));
    let side = cut.map_or(inner.start, |at| inner.start + at + 1);
    let keep_label =
        text.matches('=').count() == 1 && text.trim_start().find('=').is_some_and(|at| at <= 3);
    some_text(response, if keep_label { inner.start } else { side }..inner.end)
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
