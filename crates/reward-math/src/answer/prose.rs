//! Values by cases in a sentence, as rows of `cases`: "2 if n is even, 3 if n is odd", `|k| < 2: \text{two points}; …`.

use super::{facts, spelling};
use crate::table::{captured, mentions, pattern};

/// Longest sentence that is split, in bytes.
const LONGEST: usize = 512;

/// Most cases of a sentence.
const MOST: usize = 8;

/// Returns the cases of a sentence in the notation of LaTeX; `None` unless each part is a value with its condition.
pub(super) fn in_cases(folded: &str) -> Option<String> {
    let conditional = folded.contains(':') || mentions("before a condition", folded);
    // A derivation calculates in each case, and an answer behind it.
    let derives = pattern!(r"\\(?:begin|Rightarrow|implies|to)(?-u:\b)");
    if folded.len() > LONGEST || !conditional || derives.is_match(folded) {
        return None;
    }
    let clauses = clauses(facts::plain(folded).trim_end_matches('.'))?;
    let rows: Vec<String> = clauses.iter().map(|clause| row(clause)).collect::<Option<_>>()?;
    Some(format!("\\begin{{cases}} {} \\end{{cases}}", rows.join(" \\\\ ")))
}

/// Splits at semicolons, and at the commas and "and" between two cases.
fn clauses(text: &str) -> Option<Vec<String>> {
    let of_case = pattern!(r"(?i)(?:^|\s)(?:‹before a condition›|otherwise|elsewhere|else)\b|:");
    let opens = pattern!(r"(?i)^(?:‹before a condition›|otherwise|else)\b");
    let (mut clauses, mut condition_first, mut apart) = (Vec::<String>::new(), false, true);
    for (separator, part) in facts::parts(text, pattern!(r"[()\[\]{},;]|\. |\b(?:and|while|but)\b"))
    {
        apart = matches!(separator, "" | ";" | ". ");
        condition_first = if apart { opens.is_match(part) } else { condition_first };
        let begins = |last: &str| match condition_first.then_some(part) {
            Some(part) => opens.is_match(part),
            None => of_case.is_match(last),
        };
        let before = clauses.pop_if(|last| !apart && !begins(last));
        clauses.push(before.map_or(part.to_owned(), |before| format!("{before}, {part}")));
    }
    // What is left goes on with the last condition: `k < -2, k \ne -3`.
    if let Some(rest) = clauses.pop_if(|last| !apart && !of_case.is_match(last)) {
        clauses.last_mut()?.extend([", ", &rest]);
    }
    (2..=MOST).contains(&clauses.len()).then_some(clauses)
}

/// Returns the value and the condition of a clause: "V if C", "if C, V", "C: V", "otherwise V".
fn row(clause: &str) -> Option<String> {
    let rest =
        pattern!(r"(?i)^(?:otherwise|else)[,:]? (.+)$|^(.+?),? (?:otherwise|elsewhere|else)$");
    if let Some(value) = captured(rest, clause) {
        return Some(format!("{} & \\text{{otherwise}}", value_of(value.as_str())?));
    }
    let forms = [
        pattern!(
            r"(?i)^(?:‹before a condition›) (?P<condition>.+?)(?:\s*[,:]\s*then\b|\s*[,:]|\s+then\b)\s*(?P<value>.+)$"
        ),
        pattern!(
            r"(?i)^(?P<value>.+?),?\s+(?:if and only if|‹before a condition›)\s+(?P<condition>.+)$"
        ),
        pattern!(r"^(?P<condition>[^:]+?)\s*:\s*(?P<value>[^:(\s][^:]*)$"),
    ];
    let parts = forms.iter().find_map(|form| form.captures(clause))?;
    Some(format!("{} & {}", value_of(&parts["value"])?, condition(&parts["condition"])?))
}

/// Returns a condition on a number; `None` for other words.
fn condition(text: &str) -> Option<String> {
    let text = spelling::rewrite("condition of a case", text);
    let relates =
        pattern!(r"[=<>]|\\(?:[lgn]eq?|[lg]eqslant|in|n?mid|equiv|not|text)(?:[^A-Za-z]|$)");
    let plain = !holds_words(&text.replace(" or ", " ").replace(" and ", " "));
    let joined = pattern!(r" (or|and) ").replace_all(&text, r" \text{ $1 } ");
    (plain && relates.is_match(&text)).then(|| joined.into_owned())
}

/// Returns a formula as it is, and words as they are usual: "one point" for "exactly one solution", "none" for "no intersection".
fn value_of(text: &str) -> Option<String> {
    let text = spelling::rewrite("opening of a case", text.trim());
    let text = spelling::rewrite("value of a case", &text).into_owned();
    let text = if holds_words(&text) { format!("\\text{{{text}}}") } else { text };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns true for more than letters and commands.
fn holds_words(text: &str) -> bool {
    let formulas = pattern!(r"\\[A-Za-z]+(?:\{ is (?:even|odd)\})?");
    pattern!(r"[A-Za-z]{2}|[^\x00-\x7F]").is_match(&formulas.replace_all(text, ""))
}
