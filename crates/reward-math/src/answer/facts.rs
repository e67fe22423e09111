//! Several values with their names: `\text{Center: } (2, -3), \text{ Radius: } 5`, "maximum $25$ at $(5, 5)$".

use super::Node;
use super::readings::read;
use crate::table::{Pattern, paired, pattern, phrases, without};
use crate::words;

/// Longest text that is split, in bytes.
const LONGEST: usize = 512;

/// A value and what it is a value of: words, or a symbol.
struct Fact {
    label: String,
    value: String,
}

/// Returns the facts of the text, or of all of it: in "(0, 0) (saddle)" words in brackets name a value.
pub(super) fn facts(folded: &str, whole: &str) -> Option<Node> {
    of_parts(folded).or_else(|| of_parts(Some(whole).filter(|whole| *whole != folded)?))
}

/// Returns an equation of words for each fact of the text; `None` if a part of it is none, or if two have one name.
fn of_parts(folded: &str) -> Option<Node> {
    let separators = pattern!(r"[,;]|\band\b|(?i)\b(?:at|with) ");
    let signs = pattern!(r"[<>!?|]|\\(?:begin|[lgn]eq?|in|to|cup|or|lor)\b|\bor\b");
    // The conjugate of `z^* = 3 - 4i` is another number.
    let conjugate = || {
        pattern!(r"\*|ast\b|star\b").is_match(folded)
            && pattern!(r"(?:^|[^A-Za-z\\])i(?:[^A-Za-z]|$)").is_match(folded)
    };
    if folded.len() > LONGEST
        || !separators.is_match(folded)
        || signs.is_match(folded)
        || conjugate()
    {
        return None;
    }
    // "25 at (5, 5)" has two facts.
    let place =
        pattern!(r"(?i)([0-9)}\]])[\s,]+(?:(?:which )?(?:is )?(?:‹reaches a place›) )?(at|with) ");
    let plain = plain(folded);
    let plain = place.replace_all(&plain, "$1, $2 ");
    let mut facts: Vec<Fact> = Vec::new();
    for (_, part) in parts(&plain, pattern!(r"[()\[\]{},;]|\band\b")) {
        let fact = fact(part, facts.last())?;
        match facts.last_mut() {
            // `x = 3` and `x = -3`, both of the vertical asymptotes
            Some(last) if fact.label.is_empty() => {
                last.value = format!("{}, {}", last.value, fact.value);
            }
            _ => facts.push(fact),
        }
    }
    let distinct = |(place, fact): (usize, &Fact)| {
        !fact.label.is_empty() && facts[..place].iter().all(|other| other.label != fact.label)
    };
    if facts.len() < 2 || !facts.iter().enumerate().all(distinct) {
        return None;
    }
    let equation = |fact: Fact| Some(Node::equation(Node::Words(fact.label), read(&fact.value)?));
    facts.into_iter().map(equation).collect::<Option<_>>().map(Node::bare)
}

/// Returns the text without commands of layout.
pub(super) fn plain(folded: &str) -> String {
    let text = pattern!(r"\\(?:text|mathrm|textbf|operatorname|mathbf)\s*\{([^{}]*)\}")
        .replace_all(folded, " $1 ");
    let text = pattern!(r"\\(?:left|right)\b|\\[,;:!\x20]|\\q?quad\b").replace_all(&text, " ");
    let money = text.replace("\\$", "¤").replace('$', " ").replace('¤', "\\$");
    money.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits at separators outside of brackets; each part comes behind the separator before it.
pub(super) fn parts<'a>(text: &'a str, separators: &Pattern) -> Vec<(&'a str, &'a str)> {
    let (mut parts, mut start, mut depth, mut before) = (Vec::new(), 0, 0_i32, "");
    for sign in separators.find_iter(text) {
        match sign.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ if depth == 0 => {
                parts.push((before, text[start..sign.start()].trim()));
                (start, before) = (sign.end(), sign.as_str());
            }
            _ => {}
        }
    }
    parts.push((before, text[start..].trim()));
    parts.retain(|(_, part)| !part.is_empty());
    parts
}

/// Reads one part; without a label if it goes on with the values of the fact before.
fn fact(part: &str, before: Option<&Fact>) -> Option<Fact> {
    let part = part.trim_end_matches('.');
    let named = pattern!(
        r"^((?:(?:[a-z] ?-)?[A-Za-z]{2,}[ -])*(?:an? )?(?:[a-z] ?-)?[A-Za-z]{2,}\b)(?:'s)?\s*(?:(\([A-Za-z](?:, ?[A-Za-z])*\)\s*=|\[[A-Z]\]\s*=|[:=])\s*(\S.*)|([^A-Za-z:=\s].*|[A-Za-z](?:[^A-Za-z].*)?))$"
    );
    let behind = pattern!(
        r"^(.*\S)(?: \(([a-z][a-z -]+)\)| (?:is|are) (?:an? )?([a-z][a-z -]+)|: ?([a-z][a-z -]+))$"
    );
    let symbol = pattern!(r"^([^=]{1,40}?)\s*=\s*([^=]+)$");
    if let Some(parts) = named.captures(part) {
        let argument = parts.get(2).map_or("", |argument| argument.as_str());
        let value = parts.get(3).or(parts.get(4))?.as_str().to_owned();
        let label = label(&parts[1], before)?;
        // "local minimum: (1, 1)" is its place, "minimum: 1" its value.
        let label = if value.starts_with('(') { of_place(label) } else { label };
        let label = label + &without(argument, &[" ", "=", ":"]);
        return Some(Fact { label, value });
    }
    // "no vertical asymptote"
    if let Some(named) = part.strip_prefix("no ").or_else(|| part.strip_prefix("No ")) {
        let label = label(named, before)?;
        return Some(Fact { label, value: "\\text{none}".to_owned() });
    }
    if let Some(parts) = behind.captures(part) {
        let label = label(parts.iter().skip(2).flatten().next()?.as_str(), before)?;
        // "$x = 2$ (maximum)", "$(1, 1)$ is a local minimum"
        return Some(Fact { label: of_place(label), value: parts[1].to_owned() });
    }
    if let Some(parts) = symbol.captures(part) {
        let start = format!("{}=", without(&parts[1], &[" "]));
        let goes_on = before.is_some_and(|fact| without(&fact.value, &[" "]).starts_with(&start));
        let value = if goes_on { part } else { &parts[2] };
        // `P^*` and `\hat p` are values of `P` and `p`.
        let mark = pattern!(
            r"\^\s*\{?\s*(?:\*|\\ast|\\star)\s*\}?|\\(?:wide)?hat\b|\\(?P<extreme>max|min)\b"
        );
        let name = mark.replace_all(&parts[1], "$extreme");
        let label = if goes_on { String::new() } else { without(&name, &[" ", "{", "}"]) };
        return Some(Fact { label, value: value.to_owned() });
    }
    before.map(|_| Fact { label: String::new(), value: part.to_owned() })
}

/// Returns "place of maximum" for "maximum", and other labels as they are.
fn of_place(label: String) -> String {
    let extreme = label.ends_with("maximum") || label.ends_with("minimum");
    if extreme && !label.starts_with("place of") { format!("place of {label}") } else { label }
}

/// Returns the words of a label without verbs: "place of maximum" for "The maximum occurs at"; `None` if they set a condition.
fn label(words: &str, before: Option<&Fact>) -> Option<String> {
    let lower = words.to_lowercase().replace('-', " ");
    let before_at = lower.strip_suffix("at");
    let before_at = before_at.filter(|named| named.is_empty() || named.ends_with(' '));
    let (named, place) = (before_at.unwrap_or(&lower), before_at.is_some());
    let filler = |word: &&str| !phrases("filler of a label").contains(word);
    let named = named.split_whitespace().filter(filler);
    let named: Vec<&str> = named.map(|word| paired("short for", word).unwrap_or(word)).collect();
    let named = named.join(" ");
    let named = match (named.as_str(), before) {
        ("", Some(fact)) if place => fact.label.clone(),
        ("", _) => return None,
        (named, _) => words::normalise(named)?,
    };
    // A saddle has no value of its own: "saddle at (0, 0)" is "saddle: (0, 0)".
    let place = place && !phrases("is a point").contains(&named.as_str());
    let label = if place { format!("place of {named}") } else { named };
    (!words::sets_condition(&label)).then_some(label)
}
