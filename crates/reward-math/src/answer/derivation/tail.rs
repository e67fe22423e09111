//! The last statement of a derivation that is not read as a whole.

use crate::table::{pattern, phrases, unwrapped, without};
use crate::words;

/// Returns true for `f(x) = 0` behind `f(x) = x`: two functions.
pub(super) fn defines_again(statement: &str, before: &[impl AsRef<str>]) -> bool {
    let label = pattern!(r"^\s*([a-zA-Z]\([a-z]\)\s*=)").captures(statement);
    label.is_some_and(|label| before.iter().any(|text| text.as_ref().contains(&label[1])))
}

/// Returns the last statement of a derivation's last step, behind separators and words.
///
/// `None` if that is all of the derivation and no chain of equations, or if its words take something back or make another value.
pub(in crate::answer) fn tail(folded: &str, last: &str) -> Option<String> {
    let text = pattern!(r"\\text(?:bf|it)?\s*\{([^{}]*)\}");
    // "Given $m = 2$" sets no condition.
    let takes_back = |words: &str| words::takes_back(&words.to_lowercase().replace("given", ""));
    if text.captures_iter(folded).any(|words| takes_back(&words[1])) {
        return None;
    }
    let last = unwrapped(
        pattern!(r"(?s)^(.*\S)(?:\s|\\[,;\x20]|\\q?quad)+\\(?:blacksquare|square|checkmark)\s*$"),
        last,
    );
    let pieces = pattern!(
        r"(?s)\\text(?:bf|it)?\s*\{[^{}]*\}|\\begin|\\end|\\left|\\right|\\[A-Za-z]+|\\.|\.\s|."
    );
    let chain = last.rmatch_indices('=').nth(1).map_or(0, |(place, _)| place);
    let bounds = pattern!(r"[<>]|\\(?:[lg]eq?(?:slant)?|in|neq?)(?-u:\b)");
    let bounds = bounds.find_iter(last).last().map_or(0, |sign| sign.start());
    let (mut start, mut behind_words, mut depth) = (0, None, 0_i32);
    for piece in pieces.find_iter(last) {
        let (piece, end) = (piece.as_str(), piece.end());
        depth += i32::from(matches!(piece, "{" | "(" | "[" | "\\begin" | "\\left"));
        depth -= i32::from(matches!(piece, "}" | ")" | "]" | "\\end" | "\\right"));
        if depth != 0 {
            continue;
        }
        match piece {
            // `, \quad 0 < x < 2` is a domain.
            ";" | "\\quad" | "\\qquad" | ". " if end > bounds => {
                (start, behind_words) = (end, None);
            }
            // `x = 0, x = 5` are alternatives, and `S = 2 \cdot 3 = 6` is calculated.
            "," if end <= chain => (start, behind_words) = (end, None),
            "\\," | "\\;" | "\\ " | "\\:" | "\\!" | "," | "." | ":" => {}
            "=" | "+" | "^" | "\\times" | "\\cdot" => behind_words = None,
            piece if piece.trim().is_empty() => {}
            piece => match text.captures(piece).map(|words| words[1].to_lowercase()) {
                Some(words) if is_aside(&words) || words::makes_another(&words) => return None,
                Some(words) if words::is_conjunction(&words) => {}
                Some(_) => behind_words = Some(end),
                None => start = behind_words.take().unwrap_or(start),
            },
        }
    }
    // "1/4 is too small"
    let predicate = pattern!(r"\\text\s*\{\s*(?:is|are|was|fails) \w[^{}]*\}\W*$");
    if predicate.is_match(&last[start..]) {
        return None;
    }
    let around = pattern!(r"^(?:[\s,.:=&]|\\[,;:!\x20])+|(?:[\s,.]|\\[,;:!\x20])+$");
    let statement = around.replace_all(&last[start..], "");
    if defines_again(&statement, &[&last[..start]]) {
        return None;
    }
    let is_read = !statement.is_empty() && (statement != folded || is_chain(folded));
    is_read.then(|| statement.into_owned())
}

/// Returns true for `\text{Area} = \text{base} \times \text{height} = 12`: equations alone.
fn is_chain(text: &str) -> bool {
    let other = pattern!(
        r"[<>,;:]|\\(?:n[A-Z]|not|mid|neq?(?-u:\b)|to(?-u:\b)|[lg]eq?|sim|[A-Za-z]*arrow)"
    );
    text.matches('=').count() > 1 && !other.is_match(&without(text, &["\\,", "\\;", "\\:"]))
}

/// Returns the text behind the last equals sign, if no bracket stands open there.
pub(in crate::answer) fn last_side(step: &str) -> Option<&str> {
    let (_, side) = step.rsplit_once('=')?;
    let closed = side.matches(['{', '(']).count() == side.matches(['}', ')']).count()
        && side.matches("\\begin").count() == side.matches("\\end").count();
    closed.then_some(side)
}

/// Returns the last two sides of a chain of equations, before a remark in brackets.
pub(in crate::answer) fn last_calculation(step: &str) -> Option<&str> {
    let remark = pattern!(r"(?s)^(.*=.*?)(?:\s|\\[,;\x20]|\\q?quad)+(?:\\left)?\([^()]*\)$");
    let step = if step.contains("(\\text") { step } else { unwrapped(remark, step.trim()) };
    let (before, _) = step.rsplit_once('=')?;
    Some(&step[before.rfind('=')? + 1..])
}

/// Returns true for words behind which no answer stands: "equality at", "where", "the square of".
fn is_aside(words: &str) -> bool {
    let mut each = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = each.next().unwrap_or_default();
    let lists = ["circumstance", "row that remarks", "opens a remark"];
    let opens = first == "for" || lists.iter().any(|list| phrases(list).contains(&first));
    opens || words.trim_end().ends_with(" of")
}
