//! Extraction of boxes: `\\boxed{…}`, `\\fbox{…}`, `\\boxed 7`.

use std::collections::BTreeSet;
use std::ops::Range;

use regex::Match;

use super::extracted::{Extracted, Rule};
use crate::table::{captured, pattern, tail};

/// Most neighbouring boxes that form one answer.
const MAX_BOXES: usize = 64;

/// Longest label of a box that is read, in bytes.
const LONGEST_LABEL: usize = 64;

/// Returns the content of the last closed box, together with boxes directly before it: `\\boxed{1}` and `\\boxed{2}`.
pub(super) fn last_boxes(response: &str) -> Option<Extracted> {
    let mut boxes: Vec<(usize, Range<usize>)> = Vec::new();
    for (start, span) in closed_boxes(response) {
        // An empty box is quoted, `\boxed{\blacksquare}` ends a proof: no answers. Of boxes in a box the outermost counts.
        if !pattern!(r"^\s*(?:‹end of a proof›)?\s*$").is_match(&response[span.clone()])
            && !denied(&response[..start], &response[span.end..])
            && boxes.last().is_none_or(|(_, last)| last.end <= start)
        {
            boxes.push((start, span));
        }
    }
    // A box that holds the place where the value in the box before is attained.
    let place = pattern!(
        r"^[^.\n]*\b(?:attained|achieved|reached|occurs|occurring) (?:when|at|for|if)\b[^.\n]*$"
    );
    while let [.., (_, value), (start, _)] = boxes.as_slice()
        && place.is_match(&response[value.end..*start])
    {
        boxes.pop();
    }
    let joined = |pair: &&[(usize, Range<usize>)]| {
        let end = pair[0].1.end;
        let closed = end + usize::from(response[end..].starts_with('}'));
        response.get(closed..pair[1].0).is_some_and(joins)
    };
    let before = boxes.windows(2).rev().take(MAX_BOXES).take_while(joined).count();
    let boxes = boxes.split_off(boxes.len().checked_sub(before + 1)?);
    let span = boxes[0].1.start..boxes[before].1.end;
    if let [(start, only)] = boxes.as_slice() {
        let extracted = Extracted::new(response, Rule::Box, only.clone());
        // `\frac{dx}{dy} = \boxed{2y}` says nothing of `\frac{dy}{dx}`.
        let derivative = pattern!(r"(\\[dt]?frac\s*\{\s*d[^{}]*\}\s*\{\s*d[^{}]*\}\s*=\s*)$");
        let label = captured(derivative, tail(&response[..*start], LONGEST_LABEL));
        return Some(match label.filter(|_| !extracted.text.contains('=')) {
            Some(label) => {
                Extracted { text: [label.as_str(), &extracted.text].concat(), ..extracted }
            }
            None => extracted,
        });
    }
    Some(Extracted { text: contents(response, &boxes).join(", "), rule: Rule::Box, span })
}

/// Returns the places of boxes that are said to be no answer, and of boxes around the mark of the end of a proof.
pub(super) fn denied_boxes(response: &str) -> Vec<Range<usize>> {
    let mark = pattern!(r"\$*\\(?:boxed|fbox)\s*\{\s*(?:‹end of a proof›)\s*\}\$*");
    let marks = mark.find_iter(response).map(|mark| mark.range());
    let spans = closed_boxes(response).into_iter().filter_map(|(start, span)| {
        let blank = response[span.clone()].trim().is_empty();
        (!blank && denied(&response[..start], &response[span.end..])).then_some(span)
    });
    let mut spans: Vec<Range<usize>> = spans.chain(marks).collect();
    spans.sort_unstable_by_key(|span| span.start);
    spans
}

/// Returns the contents of boxes with their labels, if each has one: `x=\\boxed{2}, y=\\boxed{3}`.
fn contents(response: &str, boxes: &[(usize, Range<usize>)]) -> Vec<String> {
    let content = |(_, span): &(usize, Range<usize>)| response[span.clone()].trim();
    let name = |(offset, _): &(usize, _)| label(&response[..*offset]).map(|name| &response[name]);
    let labels: Option<Vec<&str>> = boxes.iter().map(name).collect();
    match labels {
        Some(labels) => {
            let labelled = |(boxed, label)| format!("{label} = {}", content(boxed));
            boxes.iter().zip(labels).map(labelled).collect()
        }
        None => boxes.iter().map(|boxed| content(boxed).to_owned()).collect(),
    }
}

/// Returns the boxes of the last paragraph, or what is bold without boxes, if so many: "**17** years old, Anna is **8**".
pub(crate) fn all_of_last_paragraph(response: &str, count: usize) -> Option<String> {
    let response = response.trim_end();
    let start = response.rfind("\n\n").map_or(0, |end| end + 2);
    all_marked(&response[start..], count).or_else(|| all_marked(response, count))
}

fn all_marked(paragraph: &str, count: usize) -> Option<String> {
    let marked: Vec<(usize, Range<usize>)> = if paragraph.contains("box") {
        closed_boxes(paragraph)
    } else {
        let bold = pattern!(r"\*\*([^*\n]*[^*\n:])\*\*").captures_iter(paragraph);
        bold.filter_map(|bold| Some((bold.get(0)?.start(), bold.get(1)?.range()))).collect()
    };
    // A sentence between two marks ends a step, unless they are items of a list.
    let in_items = |between: &str| pattern!(r"\n\s*(?:[-*•]|\d+[.)]) ").is_match(between);
    let joined = |pair: &[(usize, Range<usize>)]| {
        // A box in a box is no second one.
        let Some(between) = paragraph.get(pair[0].1.end..pair[1].0) else { return false };
        let separates =
            pattern!(r"^[\s$]*$|[,;、，和\n]|\b(?:and|or|und|et|y)\b").is_match(between);
        separates && (in_items(between) || !pattern!(r"[.!?](?:\s|\$)|。").is_match(between))
    };
    // What is said behind them may drop one.
    let last = marked.last().map_or(0, |(_, span)| span.end);
    // "- $k = \boxed{9}$, with the root $r = 2$": the end of the last item.
    let item = |pair: &[(usize, Range<usize>)]| {
        paragraph.get(pair[0].1.end..pair[1].0).is_some_and(in_items)
    };
    let in_list = !paragraph[last..].trim_end().contains('\n') && marked.windows(2).all(item);
    let closed = in_list || !paragraph[last..].contains(|c: char| c.is_ascii_digit());
    let stands = |(start, span): &(usize, Range<usize>)| {
        !denied(&paragraph[..*start], &paragraph[span.end..])
    };
    if !closed || !marked.iter().all(stands) {
        return None;
    }
    (marked.len() == count && count > 1 && marked.windows(2).all(joined))
        .then(|| contents(paragraph, &marked).join(", "))
}

/// Returns the values of a list at the end of a text without boxes, in the order of their labels: "(b) The mean is 3".
///
/// With labels if `labelled`; `None` if there are not so many items.
pub(crate) fn listed_values(response: &str, count: usize, labelled: bool) -> Option<String> {
    let item = pattern!(
        r"^\s*(?:[-*•]\s+|[0-9][.)]\s+)?(?:\*\*)?(?:(?:Part )?\(?([a-h])\))?(?:\*\*)?:?\s*(\S.*?)[.。;]?\s*$"
    );
    let value = pattern!(
        r"(?s)(?:^|.*(?:\*\*|\$|=|：|\b(?:‹verb of a value›)\b))\s*([^*$=]*?[^*$=\s])\s*(?:\*\*|\$)?$"
    );
    let lines = response.trim_end().lines().rev().filter(|line| !line.trim().is_empty());
    if let Some(equations) = equations(lines.clone(), count) {
        return Some(equations);
    }
    let marked =
        |line: &&str| pattern!(r"^\s*(?:[-*•]\s|[0-9][.)]\s|\*{0,2}\(?[a-h]\))").is_match(line);
    let mut items: Vec<(Option<String>, String)> = Vec::new();
    for line in lines.take_while(marked).take(MAX_BOXES) {
        let parts = item.captures(line)?;
        let label = parts.get(1).map(|label| label.as_str().to_owned());
        items.push((label, value.captures(&parts[2])?[1].to_owned()));
    }
    items.reverse();
    items.sort_by(|a, b| a.0.cmp(&b.0));
    if items.len() != count || labelled && items.iter().any(|(label, _)| label.is_none()) {
        return None;
    }
    let text = |(label, value): &(Option<String>, String)| match label {
        Some(label) if labelled => format!("({label}) {value} "),
        _ => format!("{value}, "),
    };
    Some(items.iter().map(text).collect())
}

/// Returns the equations that end a text, one of each name a line: "$x = 2$", "- $y = -1$", "**z = 4**".
fn equations<'a>(lines: impl Iterator<Item = &'a str>, count: usize) -> Option<String> {
    let equation = pattern!(
        r"^\s*(?:[-*•]\s+)?(?:\*\*)?\$?((\\?[A-Za-z]+(?:_\{?[0-9]\}?)?)\s*=[^=\n$*]*[^=\n$*.,;])[.,;]?\$?(?:\*\*)?[.,;]?\s*$"
    );
    let mut names = BTreeSet::new();
    let mut equations: Vec<&str> = lines
        .map_while(|line| equation.captures(line))
        .take_while(|parts| names.insert(parts.extract::<2>().1[1]))
        .map(|parts| parts.extract::<2>().1[0])
        .collect();
    equations.reverse();
    (equations.len() == count).then(|| equations.join(", "))
}

/// Returns the last box of each part with its label, `(a) 39 (b) 210`; those of "Case 1" and "First solution: …" without.
///
/// A part begins with its label on a line; `None` if there is only one, or one has no box.
pub(crate) fn by_parts(response: &str) -> Option<String> {
    let labels = pattern!(
        r"(?m)^[\s*#>-]*(?:(?:[Pp]art\s*)?\(([a-h1-8])\)|Part ([1-8])\b|(First|Second|Third) [a-z]+:|(Case [1-8])\b)"
    );
    let labels = labels.captures_iter(response).filter_map(|label| {
        let name = label.iter().skip(1).flatten().next()?;
        Some((name.as_str(), label.get(0)?.start()))
    });
    let labels: Vec<(&str, usize)> = labels.collect();
    let in_order =
        ["a b c d e f g h", "1 2 3 4 5 6 7 8", "First Second Third"].iter().any(|names| {
            let written = labels.iter().map(|(label, _)| label.trim_start_matches("Case "));
            written.eq(names.split(' ').take(labels.len()))
        });
    if labels.len() < 2 || !in_order {
        return None;
    }
    let ends = labels.iter().skip(1).map(|(_, start)| *start).chain([response.len()]);
    let ordered = !labels[0].0.starts_with(['F', 'C']);
    let part = |((label, start), end): (&(&str, usize), usize)| {
        let value = last_boxes(&response[*start..end])?.text;
        Some(if ordered { format!("({label}) {value}") } else { value })
    };
    let parts: Option<Vec<String>> = labels.iter().zip(ends).map(part).collect();
    Some(parts?.join(if ordered { " " } else { ", " }))
}

/// Returns true if the text around a box says that it is not the answer: "the answer is **not** $", "$ is wrong".
fn denied(before: &str, behind: &str) -> bool {
    let denial = pattern!(
        r"(?i)(?:\bnot(?: equal to| be)?|n't(?: equal to| be)?|cannot be|\bnever(?: be| equals?| equal to| reaches| exceeds)?|anything but|\b(?:wrong|incorrect) (?:answer|value|result)(?: is| would be)?|\b(?:wrong|mistake) to (?:answer|say|write)|\b(?:n['’]est pas|nicht|no es|non è|não é|не)|不是)[\s*_$(\\\[]*$"
    );
    // "Had it been 3, the answer would be $"
    let unreal = pattern!(
        r"(?i)(?:^|[.\n] *)(?:(?:had|if) [^.\n]*\bwould (?:be|have been)|(?:it is (?:false|not true|wrong)|il est faux)[^.\n]* (?:that|que) [^.\n]*)[\s*_$(\\\[]*$"
    );
    let rejected = pattern!(
        r"^[}\s$*\\)\]]*(?:, (?:but |though |which |this |that |it )+)?(?:(?:would be|is|was|turns out to be) (?:a |an )?(?:wrong|incorrect|mistaken|invalid|extraneous|not )|does not |doesn't |fails)"
    );
    rejected.is_match(&behind[..behind.floor_char_boundary(64)])
        || denial.is_match(tail(before, 32))
        || unreal.is_match(tail(before, 160))
}

/// Returns the place of the name before an equals sign at the end of a text: `x` in `so $x = `.
fn label(before: &str) -> Option<Range<usize>> {
    let end = pattern!(
        r"(?:^|[^A-Za-z0-9_\\])(\\[a-z]{2,7}(?:_[0-9])?|[A-Za-z][A-Za-z0-9_]{0,3})\s*=[ $]*$"
    );
    Some(captured(end, before)?.range())
}

/// Returns true if only separators, and a label of the second, are between two boxes.
fn joins(between: &str) -> bool {
    let unlabelled = label(between).map_or(between, |label| &between[..label.start]);
    let separators = pattern!(
        r"^(?:[\s${}]|\\text|\\q?quad|\\[;, ()\[\]]|([,;、，和或]|and|or|\([b-h]\)|\n\s*[-*•]\s))+$"
    );
    separators.captures(unlabelled).is_some_and(|separator| separator.get(1).is_some())
}

/// Returns the offset of each closed box and the span of its content.
fn closed_boxes(text: &str) -> Vec<(usize, Range<usize>)> {
    let Some(first) = text.find("box") else { return Vec::new() };
    // One forward pass matches every brace, so many unclosed boxes still cost linear time.
    let closing = matching_braces(text, first);
    let content = |name: Match<'_>| Some((name.start(), box_content(text, name.end(), &closing)?));
    pattern!(r"\\(?:boxed|fbox)").find_iter(text).filter_map(content).collect()
}

fn box_content(response: &str, start: usize, closing: &[(usize, usize)]) -> Option<Range<usize>> {
    let rest = &response[start..];
    let open = start + (rest.len() - rest.trim_start().len());
    if response[open..].starts_with('{') {
        let index = closing.binary_search_by_key(&open, |&(open, _)| open).ok()?;
        return Some(open + 1..closing[index].1);
    }
    // `\boxed 7`: TeX takes one token; a reader takes the number.
    let word = response[open..]
        .find(|c: char| c.is_whitespace() || c == '$')
        .map_or(response.len(), |length| open + length);
    let word = response[open..word].trim_end_matches(['.', ',', ';']);
    (word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        || word.len() == 1)
        .then(|| open..open + word.len())
}

/// Returns the offsets of each closed box's `{` and `}` behind `first`, ordered by the `{`.
fn matching_braces(response: &str, first: usize) -> Vec<(usize, usize)> {
    let (mut open, mut pairs): (Vec<Option<u32>>, _) = (Vec::new(), Vec::new());
    let mut escaped = false;
    for (offset, &byte) in response.as_bytes().iter().enumerate().skip(first) {
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
