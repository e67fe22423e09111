//! Splitting of a text into the steps of a derivation.

use regex::Captures;

use super::tail::defines_again;
use crate::answer::assertion::objects;
use crate::answer::spelling::rewrite;
use crate::table::{captured, lists, mentions, pattern, phrases};
use crate::words;

/// Signs behind which the next step stands.
const CONCLUSIONS: &str = "\\to \\rightarrow \\longrightarrow \\leadsto \\rightsquigarrow \\implies \\Rightarrow \\Longrightarrow \\iff \\Leftrightarrow \\Longleftrightarrow \\longleftrightarrow \\leftrightarrow \\therefore";

/// Environments whose rows are steps.
const ENVIRONMENTS: &str = "aligned align gathered gather split eqnarray array";

/// A step that says nothing.
const UNREAD: &str = "\\Rightarrow";

/// Removes from `x + \frac1x \ge 2, \text{ equality iff } x = 1` the remark, up to the end; `None` if there is none.
pub(super) fn without_equality(folded: &str) -> Option<String> {
    let remark = pattern!(
        r"(?s)(?:[,;(\s&]|\\q?quad|\\[,;\x20\\])*\\text\s*\{(?:\s*=\s*\}|[^{}]*(?:equality|\biff\b|等号|\b(?:is|are) (?:attained|achieved|reached|achievable|attainable|possible)\b|\band this)).*?((?:\\end\{[a-z]+\*?\}\s*)?)$"
    );
    // What it concludes is the answer.
    let concludes =
        pattern!(r"(?i)\b(?:hence|so|thus|therefore)\b|所以|故|\\(?:min|max|implies|Rightarrow)");
    remark.find(folded).filter(|remark| !concludes.is_match(remark.as_str()))?;
    let rest = remark.replace(folded, "$1").into_owned();
    rest.contains(|c: char| c.is_ascii_digit()).then_some(rest)
}

/// Removes the calculation that a tick marks as a check: `n = 18, \quad 14 + 18 = 32 \checkmark`; `None` if there is none.
pub(super) fn without_check(folded: &str) -> Option<&str> {
    let check = pattern!(
        r"(?xs)^(.*?[^\s:,;\\=<>+*/^({-]) (?:[\s,]|\\[,;\x20])* (?:[:;]|\\q?quad) (?:[\s:,;]|\\q?quad|\\[,;\x20])*
        (?:[-(\[0-9]|\\(?:[lr]floor|sqrt|[dt]?frac|left|log|ln))
        (?:[-0-9+*/=^_(){}.,;:\s|<>!]|\\(?:cdot|times|mid|[dt]?frac|sqrt|[lr]floor|left|right|log|ln|q?quad|checkmark|[lg]eq?|[bp]?mod|equiv|[,;!\x20]))*
        (?:=|\\mid|\\equiv) (?:[-0-9+*/=^_(){}.,;:\s|<>!]|\\(?:cdot|times|mid|[dt]?frac|sqrt|[lr]floor|left|right|log|ln|q?quad|checkmark|[lg]eq?|[bp]?mod|equiv|[,;!\x20]))*
        \\checkmark (?:[\s.,)\]]|\\[,;\x20]|\\blacksquare|\\square)*$"
    );
    Some(folded.contains("\\checkmark").then(|| captured(check, folded)).flatten()?.as_str())
}

/// Returns the bound of an inequality, with what it equals: `3\sqrt[3]{1} = 3` of `a + b + c \ge 3\sqrt[3]{1} = 3`.
pub(super) fn bound(row: &str) -> &str {
    let last = pattern!(
        r"(?s)^(?:.*(?:\\[lg](?:eqslant|eq|e)([^A-Za-z].*)|[<>](.*))|\\text\s*\{\s*[Aa]t (?:most|least)\s*\}\s*(.*?)(?:\\text.*)?)$"
    );
    captured(last, row).map_or(row, |bound| bound.as_str().trim())
}

/// Splits a text or the environment around it into rows, and takes what stands behind the last sign of conclusion in each.
///
/// A row that begins with a relation goes on with the row before. `None` for one row without such a sign, and no environment.
pub(super) fn rows(folded: &str) -> Option<Vec<String>> {
    let spaces = pattern!(r"^(?:\s|\\[,;:!\x20])+|(?:\s|\\[,;:!\x20])+$");
    let folded = &*spaces.replace_all(folded, "");
    let checked = pattern!(
        r"(?s)(\\end\{[a-z]+\*?\})(?:\s|\\q?quad|\\[,;\x20])*(?:\\text\{\s*\(?\s*(?i:‹opens a check›).*|\(\s*\\text\{[^()]*(?:\([^()]*\)[^()]*)*\)\s*)$"
    );
    let folded = &*checked.replace(folded, "$1");
    let environment =
        pattern!(r"(?s)^\\begin\{([a-z]+)\*?\}(?:\{[lrc|]*\})?(.*)\\end\{([a-z]+)\*?\}$");
    let inside = environment.captures(folded);
    // `\begin{…} … \end{…} \implies \begin{…} … \end{…}`
    let is_one = |inside: &str| {
        let end = inside.find("\\end").unwrap_or(inside.len());
        inside[..end].contains("\\begin") || end == inside.len()
    };
    let inside = inside.filter(|parts| lists(ENVIRONMENTS, &parts[1]) && is_one(&parts[2]));
    let text = inside.as_ref().and_then(|parts| parts.get(2)).map_or(folded, |text| text.as_str());
    let text = &marked(text);
    let splits = pattern!(r"\\(?:\\|aside|so|to|leadsto|[A-Za-z]*arrow|implies|iff|therefore)");
    if inside.is_none() && !splits.is_match(text) {
        return None;
    }
    let pieces = pattern!(
        r"(?s)\\begin|\\end|\\left|\\right|\\tag\{[^{}]*\}|\\\\(?:\[[0-9.]+(?:pt|e[mx]|mm)\])?|\\[A-Za-z]+|\\.|."
    );
    let (mut rows, mut row, mut depth, mut brackets) = (Vec::new(), String::new(), 0_i32, 0_i32);
    let (mut concludes, mut cut) = (false, false);
    for piece in pieces.find_iter(text).map(|piece| piece.as_str()) {
        depth += i32::from(matches!(piece, "{" | "\\begin" | "\\left"));
        depth -= i32::from(matches!(piece, "}" | "\\end" | "\\right"));
        // A remark in brackets leads to nothing.
        brackets += i32::from(matches!(piece, "(" | "["));
        brackets = (brackets - i32::from(matches!(piece, ")" | "]"))).max(0);
        match piece {
            piece if piece.starts_with("\\tag") || piece == "\\hline" => {}
            piece if depth != 0 => row.push_str(piece),
            piece if piece.starts_with("\\\\") => {
                brackets = 0;
                // What follows within a row leads to others.
                let step = if cut { UNREAD.to_owned() } else { std::mem::take(&mut row) };
                rows.push(step);
                (row, cut) = (String::new(), false);
            }
            "\\aside" => {
                rows.push(std::mem::take(&mut row));
                cut = false;
            }
            // What stands before "so" is no part of the answer.
            "\\so" => {
                concludes = true;
                rows.push(UNREAD.to_owned());
                row.clear();
            }
            piece if piece.len() > 1 && brackets == 0 && lists(CONCLUSIONS, piece) => {
                concludes = true;
                cut |= row.contains(char::is_alphanumeric);
                row.clear();
            }
            "&" => row.push(' '),
            piece => row.push_str(piece),
        }
    }
    rows.push(row);
    let steps = (rows.len() > 1 || inside.is_some() || concludes) && !are_points(&rows);
    steps.then(|| merged(&rows))
}

/// Returns true for points below each other, which are a list.
fn are_points(rows: &[String]) -> bool {
    let point = pattern!(r"^\s*(?:\\left)?\([^()=]*,[^()=]*\)[\s,.;]*$");
    rows.len() > 1 && rows.iter().all(|row| point.is_match(row))
}

/// Marks the places before checks and remarks by `\aside`, and words of conclusion by `\so`.
fn marked(text: &str) -> String {
    let text = rewrite("limit", text);
    rewrite("conclusion", &rewrite("aside", &text)).into_owned()
}

fn merged(rows: &[String]) -> Vec<String> {
    let opening = pattern!(
        r"^(?:\s|[A-Z]:|\\[,;:\x20]|\\q?quad\b|\\text\{\s*(?:i\.e\.|that is|所以选|故选|选)[ ,:：]*\})+"
    );
    // `\text{tangent at } (3, 4): 3x + 4y = 25`
    let label = pattern!(
        r"^[^:]*(?:\\text\{[^{}:]*\}|[<>=]|\\(?:in|[lg]eq?)[^a-z])[^:]*:([^0-9].*)$|^\\text\{[^{}:]*:\s*\}(.+)$"
    );
    let goes_on = pattern!(r"^(?:[<>≤≥]|\\(?:leq?|geq?|neq?|lt|gt|equiv|in)(?:[^A-Za-z]|$))");
    // `\text{Since } a < 0: a = -3`: what stands behind the reason is said.
    let reason = pattern!(r"^\\text\{\s*(?i:since|because|as)\b");
    let mut merged: Vec<String> = Vec::new();
    for row in rows {
        let row = row.replace("\\left(", "(").replace("\\right)", ")");
        let row = opening.replace(&row, "");
        let bare = without_remark(without_end(&row));
        let behind = captured(label, bare);
        let row = behind.map_or(bare, |behind| behind.as_str().trim());
        match merged.last_mut() {
            Some(before) if goes_on.is_match(row) => {
                before.push(' ');
                before.push_str(row);
            }
            _ if row.is_empty()
                || is_remark(bare) && !(behind.is_some() && reason.is_match(bare)) => {}
            _ => merged.push(row.to_owned()),
        }
    }
    merged
}

fn without_end(row: &str) -> &str {
    let end = pattern!(r"(?:[,;.\s]|\\[,;\x20]|\\q?quad)+$").find(row);
    end.map_or(row, |end| &row[..end.start()])
}

/// Removes a remark in brackets at the end that begins with words: `= \frac78 \text{ (in lowest terms, as } \gcd(7, 8) = 1)`.
pub(in crate::answer) fn without_words_in_brackets(folded: &str) -> &str {
    let words = pattern!(r"(?:\\text\s*\{\s*\(|\(\s*\\text\s*\{)\s*([a-z]{3,}\s.*)$");
    let kept = |remark: &str| {
        words::takes_back(&remark.to_lowercase())
            || pattern!(r"^(?:base|more precisely|the (?:true|exact|correct) value being)\b")
                .is_match(remark)
    };
    if !folded.ends_with([')', '}']) {
        return folded;
    }
    match captured(words, folded) {
        Some(remark) if !kept(remark.as_str()) => without_remark(folded),
        // `= \frac{41}{37} \quad (\gcd(41, 37) = 1)`
        _ if pattern!(r"=.*\\q?quad\s*\((?:\\[A-Za-z]|[0-9])[^\\]*=[^\\]*\)$").is_match(folded) => {
            without_remark(folded)
        }
        _ => folded,
    }
}

/// Removes a remark or bound in brackets from the end: `n = 7 \quad (n > 0)`, but no domain of a letter and nothing rejected.
fn without_remark(row: &str) -> &str {
    // `x = 7 \text{ (check: } 21 + 8 = 29)`
    let words = pattern!(r"(?s)^(.*[^\s\\])(?:\s|\\[,;\x20]|\\q?quad)*\\text\s*\{\s*\((.*)\)\}?$")
        .captures(row);
    // What `x = 5 \text{ (} x = 0 \text{ is extraneous)}` rejects is not in the row.
    let named = pattern!(r"= ?(-?[0-9]+)");
    let elsewhere = |parts: &Captures<'_>| {
        named.captures(&parts[2]).is_some_and(|value| !parts[1].contains(&value[1]))
    };
    if let Some(parts) = words
        && !objects(&parts[2])
        && (!mentions("rejects a value", &parts[2]) || elsewhere(&parts))
    {
        return parts.get(1).map_or(row, |before| without_end(before.as_str()));
    }
    let Some(inner) = row.strip_suffix(')') else { return row };
    let mut depth = 1_i32;
    let open = inner.char_indices().rev().find(|(_, character)| {
        depth += i32::from(*character == ')') - i32::from(*character == '(');
        depth == 0
    });
    let Some((open, _)) = open.filter(|(open, _)| *open > 0) else { return row };
    let (before, inside) = (&row[..open], &row[open + 1..row.len() - 1]);
    let rejects = mentions("rejects a value", inside);
    let apart = pattern!(r"(?:\s|\\[,;]|\\q?quad)$").is_match(before);
    let bounds =
        apart && pattern!(r"[=<>]|\\(?:neq?|geq?|leq?|text)(?:[^A-Za-z]|$)").is_match(inside);
    let keeps = objects(inside.trim_start_matches("\\text{"));
    // `x = 7 \text{ or } x = 2\ (\text{rejected})`
    let alternative = pattern!(r"(?s)^(.*)(?:\\text\s*\{\s*or\s*\}|,)");
    match captured(alternative, before) {
        Some(other) if rejects && inside.starts_with("\\text{") => without_end(other.as_str()),
        _ if bounds && !keeps => without_end(before),
        _ => row,
    }
}

/// Returns true for a row that only checks, or gives a reason: `\text{Check: } 2 \cdot 4 = 8`.
fn is_remark(row: &str) -> bool {
    let opening = pattern!(r"^\[?(?:\\text\{)?[\s(]*(\w+)").captures(row);
    let word = opening.map(|opening| opening[1].to_lowercase());
    let bracketed = pattern!(r"^(?:\\text\s*\{\s*\(|\(\s*\\text).*\)\}?$").is_match(row);
    // `\Rightarrow \text{(A)}` is a choice.
    let bracketed = bracketed && !pattern!(r"^\\text\s*\{\s*\([A-J]\)\s*\}$").is_match(row);
    let lists = ["row that remarks", "opens a remark"];
    let remarks = |word: String| lists.iter().any(|list| phrases(list).contains(&word.as_str()));
    bracketed || word.is_some_and(remarks)
}

/// Returns the steps before each sign of conclusion.
pub(super) fn concluding(folded: &str) -> impl Iterator<Item = &str> {
    let command = pattern!(r"\\[A-Za-z]+").find_iter(folded);
    let sign = command.filter(|command| lists(CONCLUSIONS, command.as_str()));
    sign.scan(0, |start, sign| Some(&folded[std::mem::replace(start, sign.end())..sign.start()]))
}

/// Splits `m = 3, n = 4, m + n = 7`; `None` if something stands between commas that is no equation.
pub(super) fn equations(folded: &str) -> Option<Vec<String>> {
    let sign = pattern!(r"\\text\{\s*and\s*\}|:\s*\\q?quad([^a-zA-Z]|$)");
    let text = sign.replace_all(folded, ",$1").replace("\\,", " ");
    let text = pattern!(r"(=\s*-?[0-9.]+):\s*\\ ").replace_all(&text, "$1,");
    let mut depth = 0_i32;
    let separates = |character: char| {
        depth += i32::from("([{".contains(character)) - i32::from(")]}".contains(character));
        depth == 0 && matches!(character, ',' | ';')
    };
    let parts = text.split(separates).map(|part| without_remark(without_end(part)).to_owned());
    let parts: Vec<String> = parts.collect();
    // "p = 0, p = 1, or p = 2": alternatives are one answer. "18, which has 6 divisors": a remark.
    let alternative = pattern!(r"^(?:\s|\\[,;\x20]|\\text\s*\{)*(?:‹no equation›)\b");
    let listed = |part: &String| part.contains('=') && !alternative.is_match(part);
    let (last, before) = parts.split_last()?;
    let steps = !before.is_empty() && parts.iter().all(listed) && !defines_again(last, before);
    steps.then_some(parts)
}
