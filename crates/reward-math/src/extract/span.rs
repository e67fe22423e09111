//! Parts of a response.

use std::ops::Range;

use super::extracted::Rule;

/// A way to find an answer, and its name.
pub(super) type Finder = (fn(&str) -> Option<Range<usize>>, Rule);

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
    let text = text.trim();
    start..start + text.len()
}
