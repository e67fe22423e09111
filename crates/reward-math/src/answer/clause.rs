//! The main clause of a sentence of words and formulas: `\text{The side of } ABC \text{ is } 4, \text{ with } A = (1, 2)`.

use crate::table::{lists, pattern, phrases};
use crate::words;

/// Longest sentence that is split, in bytes.
const LONGEST: usize = 1024;

/// A part of a sentence.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Words(&'a str),
    Formula(&'a str),
}

impl<'a> Piece<'a> {
    fn words(&self) -> Option<&'a str> {
        if let Piece::Words(words) = self { Some(words) } else { None }
    }
}

/// The value that a main clause states.
pub(super) struct Clause {
    /// The value with its label in a formula and its unit.
    pub(super) text: String,
    /// True if the value counts only without variables, as something else bounds their range.
    pub(super) closed: bool,
}

/// Returns the value of the main clause: behind its last verb, or at its beginning.
///
/// `None` without words, and where words deny, doubt or conclude something.
pub(super) fn main_clause(folded: &str) -> Option<Clause> {
    let pieces = pieces(folded)?;
    if let Some(clause) = conclusion(&pieces) {
        return Some(clause);
    }
    let (clause, remarks) = split_clause(&pieces);
    let (subject, rest) = (said(&clause), said(&remarks));
    // "attained if and only if a = b" sets no condition, and "more heads than Evan with probability" no bound.
    let place = pattern!(r"\b(?:‹reaches a value›) (?:only )?(?:if and only if|iff|if|when)\b");
    let rest = place.replace_all(&rest, "where");
    let verb =
        pattern!(r"(?i)\b(?:‹verb of a value›|‹verb of a clause›)\s*(?:(?:‹before a value›)\s*)?$");
    let states = |at: &usize| clause[*at].words().is_some_and(|words| verb.is_match(words));
    let behind_verb = (0..clause.len()).rev().find(states).map(|at| at + 1);
    let event = pattern!(r"^.*\bwith probability\b|\b(?:‹compares quantities›)(?: [a-z]+)? than\b");
    let subject = words::without_event(subject.trim());
    let subject = match behind_verb {
        Some(_) => event.replace_all(&subject, "chance"),
        None => subject.as_str().into(),
    };
    if subject.is_empty() && rest.is_empty()
        || pattern!(r"^(?:since|because|as|given|let)\b").is_match(&subject)
        || words::takes_back(&subject)
        || !words::directions(&format!("{subject} {rest}")).is_empty()
        || states_another(&remarks, &rest)
    {
        return None;
    }
    // "By linearity, ", "Hence"
    let is_opening =
        pattern!(r"(?i),\s*$|^\s*(?:so|hence|thus|therefore|exactly|precisely|only)\s*$");
    let opens = |at: &usize| clause[*at].words().is_some_and(|words| is_opening.is_match(words));
    let value = behind_verb.or_else(|| (0..clause.len()).find(|at| !opens(at)))?;
    let Piece::Formula(formula) = clause.get(value)? else { return None };
    let behind = &clause[value + 1..];
    let unit = unit(behind)?;
    let relates = pattern!(r"[=<>]|\\(?:[lg]eq?|in|neq?|mid)(?:[^A-Za-z]|$)");
    let bounds =
        |piece: &Piece<'_>| matches!(piece, Piece::Formula(text) if relates.is_match(text));
    let closed = behind.iter().chain(&remarks).any(bounds);
    Some(Clause { text: measured(formula, unit), closed })
}

/// Returns the value with its unit, if it has one.
fn measured(formula: &str, unit: &str) -> String {
    if unit.is_empty() { formula.to_owned() } else { format!("{formula}\\text{{ {unit}}}") }
}

/// Returns the value at the end that what stands before it leads to: ", whose sum is 12", ", namely 12", ", for a total of 12".
fn conclusion(pieces: &[Piece<'_>]) -> Option<Clause> {
    let leads = pattern!(concat!(
        r"(?i)\bnamely\s*$|\bwhich (?:is|are|gives|makes|equals|leaves)(?: the [a-z ]+)?\s*$",
        r"|\b(?:whose|and (?:the|their|its)) (?:[a-z]+ ){0,2}(?:sum|product|total|difference|answer|value|number|length|area|factor|divisor|remainder|root|digit)\b[a-z ]*\b(?:is|equals)\s*$",
        r"|\b(?:for|with|giving) (?:a |the )?(?:total|sum|product|probability|perimeter|length|area)(?: of)?\s*$",
        r"|[,;]\s*(?:and )?(?:they|these)(?: [a-z]+)? (?:add up|sum|amount|come) to\s*$",
        r"|[,;]\s*(?:so|hence|thus|therefore)\b[^,;]*\b(?:is|equals)\s*$",
    ));
    let place = pieces
        .iter()
        .rposition(|piece| piece.words().is_some_and(|words| leads.is_match(words)))?;
    let Piece::Formula(formula) = pieces.get(place + 1).filter(|_| place > 0)? else { return None };
    let unit = unit(&pieces[place + 2..]).filter(|_| pieces.len() <= place + 3)?;
    let doubts = words::takes_back(&said(&pieces[..=place]));
    (!doubts).then(|| Clause { text: measured(formula, unit), closed: true })
}

/// Returns the values of "Ann is 7, Bob is 14 and Cy is 18", as a list.
pub(super) fn values(folded: &str) -> Option<String> {
    let pieces = pieces(folded)?;
    let verb = pattern!(r"\p{L}\s+(?:is|equals|=)\s*$");
    let value = |pair: &[Piece<'_>]| match pair {
        [Piece::Words(words), Piece::Formula(value)] if verb.is_match(words) => {
            let separated = value.trim_end_matches([' ', ',', ';', '\\']);
            (!separated.contains('=')).then(|| separated.to_owned())
        }
        _ => None,
    };
    let values: Vec<String> = pieces.chunks(2).map(value).collect::<Option<_>>()?;
    let words = words::takes_back(&said(&pieces));
    (values.len() > 1 && !words).then(|| values.join(", "))
}

/// Returns the words among the pieces, in small letters.
fn said(pieces: &[Piece<'_>]) -> String {
    pieces.iter().filter_map(Piece::words).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the unit or counted thing behind a value, before a circumstance: "inches in", "such integers with".
///
/// `None` if the value goes on, or another one is joined to it.
fn unit<'a>(behind: &[Piece<'a>]) -> Option<&'a str> {
    // `3 \text{ and } 5`: two values; "has height 4 cm and base radius 2 cm" names the second.
    let second = pattern!(r"\b(?:or|und|et|oder|ou)\b|\band(?: the| its| their)?\s*$");
    let joins = |words: &str| second.is_match(words);
    let words = match behind {
        [] => return Some(""),
        [Piece::Words(words), ..] => *words,
        [Piece::Formula(_), ..] => return None,
    };
    let unit = pattern!(concat!(
        r"^\s*((?:[a-z/²³%.-]+\s*){0,3}?)\s*",
        r"(?:$|\b(?:for|in|of|per|such|only|is the|is our)\b|\b(‹opens a circumstance›|‹compares quantities›)\b)",
    ));
    let parts = unit.captures(words)?;
    let (unit, place) = (parts.get(1)?.as_str().trim(), parts.get(2).is_some());
    // `6 \text{ times } x` goes on, `42 \text{ ordered pairs } (A, B)` does not.
    let named = match behind.get(1) {
        Some(Piece::Formula(name)) => {
            let letters = pattern!(r"^(?:[A-Za-z]|\((?:[A-Za-z0-9_{},\s]|\\[lc]?dots[a-z]?)+\))$");
            unit.ends_with('s') && unit != "times" && letters.is_match(name)
        }
        _ => true,
    };
    let goes_on = parts[0].trim() == unit && !named;
    let second = behind.iter().filter_map(Piece::words).any(joins);
    // "y = 1 meet at"
    let acts = place && !lists(" times", unit) && !words::is_measure(unit);
    let filler = lists("such only alone all in times", unit);
    (!goes_on && !second && !acts).then_some(if filler { "" } else { unit })
}

/// Returns true if what stands behind the main clause concludes, doubts it, or states another value.
fn states_another(remarks: &[Piece<'_>], rest: &str) -> bool {
    // "which cannot be reduced" takes nothing back, "but x = 2 is wrong" does. "i.e. 8" says the value again; "(that is, 2
    // hours)" in another unit.
    let objects = pattern!(concat!(
        r"^[^\w(]*(?:i\.e|or|that is)\b|\b(?:‹takes a clause back›)\b|\b(?:so|hence|thus|therefore)\b(?: t[^h]| th[^a]|[^t]*$| [^t])",
        r"|\b(?:answer|value|number|such|result|probability)\b.*\b(?:is|equals?)\s*$",
    ));
    let reason = pattern!(r"^\W*\(that is\b|^\W*(?:‹gives a reason›)\b");
    // "number of subsets = 8", "solution (2, 3)", but "the length of (3, 4)"
    let names = |pair: &[Piece<'_>]| match pair {
        [Piece::Words(words), Piece::Formula(value)] => {
            let last = words.split_whitespace().next_back().unwrap_or_default().to_lowercase();
            let apart = phrases("before no value").contains(&last.as_str());
            value.contains('=') || !apart
        }
        _ => false,
    };
    objects.is_match(rest) || !reason.is_match(rest) && remarks.windows(2).any(names)
}

/// Splits a text into words and formulas; `None` for one without words, or in rows.
fn pieces(folded: &str) -> Option<Vec<Piece<'_>>> {
    let words = pattern!(r"\\(?:text|mbox|textbf|textit)\s*\{([^{}]*)\}");
    if folded.len() > LONGEST || folded.contains("\\begin") || folded.contains("\\\\") {
        return None;
    }
    let (mut pieces, mut end) = (Vec::new(), 0);
    // A separator between words counts, too.
    let formula = |text: &str| !text.trim_matches([' ', '\\', '.']).is_empty();
    for text in words.captures_iter(folded) {
        let (all, inner) = (text.get(0)?, text.get(1)?);
        let before = &folded[end..all.start()];
        // Words in an index or argument are a part of the formula.
        let count = |signs: [char; 3]| before.matches(signs).count();
        let open = count(['{', '(', '[']) != count(['}', ')', ']']);
        if open || before.trim_end().ends_with(['_', '^']) {
            continue;
        }
        if formula(before) {
            pieces.push(Piece::Formula(before));
        }
        pieces.push(Piece::Words(inner.as_str()));
        end = all.end();
    }
    if formula(&folded[end..]) {
        pieces.push(Piece::Formula(&folded[end..]));
    }
    (end > 0).then_some(pieces)
}

/// Splits behind the first formula at a comma, semicolon or bracket next to words.
fn split_clause<'a>(pieces: &[Piece<'a>]) -> (Vec<Piece<'a>>, Vec<Piece<'a>>) {
    let stop = pattern!(r"^\s*[,;:(]|[,;]\s|\s\(");
    let separators = pattern!(r"(?:[,;]|\\q?quad(?-u:\b)|\\[,;\x20]|\s)+$");
    let separates = pattern!(r"(?:^|[^\\])[,;]|quad");
    let (mut clause, mut stated) = (Vec::new(), false);
    for (place, piece) in pieces.iter().enumerate() {
        let behind = pieces[place + 1..].iter().copied();
        match *piece {
            Piece::Words(words) => match stop.find(words).filter(|_| stated) {
                Some(stop) => {
                    let (kept, rest) = words.split_at(stop.start());
                    clause.extend((!kept.trim().is_empty()).then_some(Piece::Words(kept)));
                    return (clause, std::iter::once(Piece::Words(rest)).chain(behind).collect());
                }
                None => clause.push(*piece),
            },
            Piece::Formula(text) => {
                let end = separators.find(text).map_or(text.len(), |end| end.start());
                let (kept, separator) = (text[..end].trim(), &text[end..]);
                stated |= !kept.is_empty();
                clause.extend((!kept.is_empty()).then_some(Piece::Formula(kept)));
                if stated && separates.is_match(separator) {
                    return (clause, behind.collect());
                }
            }
        }
    }
    (clause, Vec::new())
}
