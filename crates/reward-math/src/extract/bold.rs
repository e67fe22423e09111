//! Answers in bold at the end of a text.

use std::ops::Range;

use super::extracted::some_text;
use crate::table::pattern;
use crate::words;

/// Returns the only bold text of the last line, with words or a reason behind it: "It needs **4 hours** in total".
fn only_bold(response: &str) -> Option<Range<usize>> {
    let line = response.rfind('\n').map_or(0, |at| at + 1);
    let parts =
        pattern!(r"^([^*]*)\*\*([^*]*)\*\*(?:[a-z ]*(?:[,;:] [^*0-9]*)?|[a-z ]*, (?:as|since|because|where|with)\b[^*]*|\s*\([a-z][^()]*\))\.?$")
            .captures(&response[line..])?;
    let bold = parts.get(2)?;
    let lower = bold.as_str().to_lowercase();
    let number = lower.contains(|c: char| c.is_ascii_digit())
        || words::number(&lower).is_some()
        || pattern!(r"\b(?:that|is|are) $").is_match(&parts[1]);
    let is_answer = number && !words::makes_another(&parts[1]);
    some_text(response, line + bold.start()..line + bold.end()).filter(|_| is_answer)
}

/// Returns the bold text at the end, or the only one of the last line.
pub(super) fn at_the_end(response: &str) -> Option<Range<usize>> {
    let trimmed_end = response.trim_end().trim_end_matches(['.', '!', ':']);
    let Some(body) = trimmed_end.strip_suffix("**") else { return only_bold(trimmed_end) };
    let body = body.trim_end_matches(['.', ' ']);
    let line = body.rfind('\n').map_or(0, |at| at + 1);
    let start = line + body[line..].rfind("**")? + 2;
    // "**Question:**" is a heading.
    let bold = some_text(response, start..body.len())?;
    let is_answer =
        !response[bold.clone()].ends_with(':') && !words::makes_another(&response[line..start - 2]);
    is_answer.then_some(bold)
}
