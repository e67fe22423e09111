//! Extraction of boxes: `\\boxed{…}`, `\\fbox{…}`, `\\boxed 7`.

use std::ops::Range;

use super::extracted::{Extracted, Rule};
use crate::language::phrases;

/// Most neighbouring boxes that form one answer.
const MAX_BOXES: usize = 64;

/// Returns the content of the last closed box, together with boxes directly before it: `\\boxed{1}` and `\\boxed{2}`.
pub(super) fn last_boxes(response: &str) -> Option<Extracted> {
    if !response.contains("box") {
        return None;
    }
    // One forward pass matches every brace, so many unclosed boxes still cost linear time.
    let closing = matching_braces(response);
    // From the last to the first: offset of the command, and its content.
    let mut boxes: Vec<(usize, Range<usize>)> = Vec::new();
    // True if only a box around those in the list can still count.
    let mut only_around = false;
    for (offset, _) in response.rmatch_indices("box") {
        let name = if response[offset..].starts_with("boxed") && response[..offset].ends_with('\\')
        {
            5
        } else if response[..offset].ends_with("\\f") {
            3
        } else {
            continue;
        };
        // An empty box is quoted from the question's instructions: no answer.
        let Some(span) = box_content(response, offset + name, &closing)
            .filter(|span| !response[span.clone()].trim().is_empty())
        else {
            continue;
        };
        if let Some((next, _)) = boxes.last() {
            let closed = span.end + usize::from(response[span.end..].starts_with('}'));
            let encloses = span.start <= *next && boxes[0].1.end <= span.end;
            if encloses {
                boxes.clear();
                only_around = false;
            } else {
                let between = response.get(closed..*next).filter(|_| boxes.len() < MAX_BOXES);
                if only_around || !between.is_some_and(|between| joins(without_label(between))) {
                    // A box around all of these may still begin earlier.
                    only_around = true;
                    continue;
                }
            }
        }
        // The backslash is one byte before "boxed" and two before the "box" of "fbox".
        boxes.push((offset - if name == 5 { 1 } else { 2 }, span));
    }
    let (_, last) = boxes.first()?;
    let (_, first) = boxes.last()?;
    let span = first.start..last.end;
    if boxes.len() == 1 {
        return Some(Extracted { text: response[last.clone()].to_owned(), rule: Rule::Box, span });
    }
    let content = |(_, span): &(usize, Range<usize>)| response[span.clone()].trim();
    // `x=\\boxed{2}, y=\\boxed{3}`: the labels belong to the answer where every box has one.
    let labels: Option<Vec<&str>> =
        boxes.iter().map(|(offset, _)| label(&response[..*offset])).collect();
    let mut contents: Vec<String> = match labels {
        Some(labels) => {
            let labelled = |(boxed, label)| format!("{label} = {}", content(boxed));
            boxes.iter().zip(labels).rev().map(labelled).collect()
        }
        None => boxes.iter().rev().map(|boxed| content(boxed).to_owned()).collect(),
    };
    // One answer that is boxed several times is one answer; among other answers each box counts.
    if contents.iter().all(|content| *content == contents[0]) {
        contents.truncate(1);
    }
    Some(Extracted { text: contents.join(", "), rule: Rule::Box, span })
}

/// Returns the name before an equals sign at the end of a text: `x` in `so $x = `.
fn label(before: &str) -> Option<&str> {
    let text = before.trim_end_matches([' ', '$']).strip_suffix('=')?.trim_end();
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let label = &text[text.trim_end_matches(name).len()..];
    let length = label.len() <= 4 && label.starts_with(|c: char| c.is_ascii_alphabetic());
    length.then_some(label)
}

/// Returns the text between two boxes without the label of the second.
fn without_label(between: &str) -> &str {
    match label(between) {
        Some(label) => {
            let end = between.trim_end_matches([' ', '$', '=']).len();
            &between[..end.saturating_sub(label.len())]
        }
        None => between,
    }
}

/// Returns true if only separators are between two boxes.
fn joins(between: &str) -> bool {
    let mut rest = between;
    let mut separated = false;
    while let Some(c) = rest.chars().next() {
        let word = phrases("between boxes").iter().find(|word| rest.starts_with(**word));
        let length = match word {
            Some(word) => {
                separated |= matches!(*word, "and" | "or" | "和" | "或");
                word.len()
            }
            None if c.is_whitespace() || matches!(c, ',' | ';' | '$' | '{' | '}' | '、' | '，') =>
            {
                separated |= matches!(c, ',' | ';' | '、' | '，');
                c.len_utf8()
            }
            None => return false,
        };
        rest = &rest[length..];
    }
    separated
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

/// Returns the offsets of each closed box's `{` and `}`, ordered by the `{`.
fn matching_braces(response: &str) -> Vec<(usize, usize)> {
    let (mut open, mut pairs): (Vec<Option<u32>>, _) = (Vec::new(), Vec::new());
    let mut escaped = false;
    for (offset, &byte) in response.as_bytes().iter().enumerate() {
        match byte {
            b'\\' => {
                escaped = !escaped;
                continue;
            }
            b'{' if !escaped => {
                let before = response[..offset].trim_end();
                let box_opens = before.ends_with("boxed") || before.ends_with("box");
                open.push(u32::try_from(offset).ok().filter(|_| box_opens));
            }
            b'}' if !escaped => {
                if let Some(Some(start)) = open.pop() {
                    pairs.push((start as usize, offset));
                }
            }
            _ => {}
        }
        escaped = false;
    }
    pairs.sort_unstable();
    pairs
}
