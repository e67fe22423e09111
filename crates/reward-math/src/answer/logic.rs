//! Statements of logic and sets over letters, `p \to q` and `A \cap B^c`, by their truth tables, and permutations in cycles.

use std::borrow::Cow;

use regex::Captures;

use crate::expression::Expression;
use crate::table::{captured, lists, pattern};

/// Longest statement that is read, in bytes.
const LONGEST: usize = 256;
/// Most letters of a statement.
const MOST_LETTERS: usize = 5;

/// Returns the letters and truth table of a statement with a sign of logic between letters; `None` for another text.
pub(super) fn statement(text: &str) -> Option<String> {
    let is_joined = pattern!(r"\\(?:‹sign of logic›)(?-u:\b)");
    is_joined.is_match(text).then(|| table(text, false)).flatten()
}

/// Returns `~(A & B)` with the commands of LaTeX.
pub(super) fn from_keyboard(text: &str) -> Cow<'_, str> {
    let letters = pattern!(r"^[A-Z~&|() ]*(?:[A-Z)] ?[&|] ?[~(A-Z]|~ ?[(A-Z])[A-Z~&|() ]*$");
    if !text.contains(['&', '|', '~']) || !letters.is_match(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('~', "\\lnot ").replace('&', "\\land ").replace('|', "\\lor "))
}

/// Returns the letters and truth table of `\overline{A} + \overline{B}`, which may be a circuit.
pub(super) fn circuit(text: &str) -> Option<String> {
    let signs = pattern!(r"^(?:[A-Z{}()+\s]|\\(?:overline|cdot|left|right|[,;!])(?-u:\b))*$");
    (text.contains("\\overline") && signs.is_match(text)).then(|| table(text, true)).flatten()
}

/// Returns true if two formulas, one with a complement, have one truth table: `A'B'` and `\overline{A + B}`.
pub(crate) fn one_circuit(text: &str, other: &str) -> bool {
    let complement = pattern!(r"'|\\(?:overline|bar|neg|sim)(?-u:\b)|\^\{?[cC]\b");
    if text.len() + other.len() > 2 * LONGEST
        || ![text, other].iter().any(|text| complement.is_match(text))
    {
        return false;
    }
    let signs = pattern!(
        r"^(?:[A-Za-z]?(?:\([A-Za-z,]+\))?=)?((?:[A-Z{}()+'^c\s]|\\(?:overline|bar|cdot|neg|lor|land|vee|wedge|oplus|left|right|prime)(?-u:\b))*|(?:[a-z{}()+'\s]|\\(?:overline|bar|cdot|neg|lor|land|vee|wedge|oplus|left|right|prime)(?-u:\b))*)$"
    );
    let values = |text| table(captured(signs, text)?.as_str(), true);
    let several = |values: &String| values.find(',') > Some(1);
    values(text).filter(several).is_some_and(|values_of_text| values(other) == Some(values_of_text))
}

/// Replaces events by a name for each truth table, in `P(A \cap B)`, `P(AB)` and `P(A' \mid B \cup C)`.
pub(super) fn events(text: &str) -> Cow<'_, str> {
    let probability = pattern!(
        r"(?:P|\\Pr|\\mathbb\s*\{?P\}?)\s*(?:\\left)?\(((?:\\text\s*\{[^{}]*\}|[A-Z'|^{}\s]|\\[A-Za-z,;]+|\([^()]*\))*)(?:\\right)?\)"
    );
    probability.replace_all(text, |parts: &Captures<'_>| {
        let given = pattern!(r"\\(?:mid|vert|,|;)(?-u:\b)|\|");
        let in_words = pattern!(r"^\s*\\text\s*\{([^{}]*)\}\s*$");
        let event = |event: &str| {
            if let Some(words) = in_words.captures(event) {
                let name: String = words[1].chars().filter(|c| c.is_alphanumeric()).collect();
                return Some(format!("E_{{{name}}}"));
            }
            let table = table(event, true)?;
            let (letters, values) = table.split_once(',')?;
            Some(if values == "01" { letters.to_owned() } else { format!("E_{{{table}}}") })
        };
        let events: Option<Vec<String>> = given.split(&parts[1]).map(event).collect();
        match events.as_deref() {
            Some([event]) => format!("P({event})"),
            Some([event, given]) => format!("P_{{given}}({event}, {given})"),
            _ => parts[0].to_owned(),
        }
    })
}

/// Returns the letters that matter, and the values of the statement for each choice of theirs.
fn table(text: &str, beside: bool) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let signs = pattern!(r"\\[A-Za-z]+|\S").find_iter(text).map(|sign| sign.as_str());
    let counts = |sign: &&str| !lists("\\left \\right \\, \\; \\! \\quad", sign);
    let signs: Vec<&str> = signs.filter(counts).collect();
    let is_letter =
        |sign: &&str| sign.len() == 1 && sign.starts_with(|c: char| c.is_ascii_alphabetic());
    let mut letters: Vec<&str> = signs.iter().copied().filter(is_letter).collect();
    letters.sort_unstable();
    letters.dedup();
    let mut reader = Reader { signs: &signs, at: 0, letters: &letters, beside };
    if letters.len() > MOST_LETTERS {
        return None;
    }
    let value = reader.level(0)?;
    (reader.at == signs.len()).then(|| canonical(value, &letters))
}

/// The values of a statement: bit `i` for the choice in which letter `k` holds if bit `k` of `i` is set.
type Values = u32;

/// Returns the letters on which the values depend, and the values for each choice of these.
fn canonical(values: Values, letters: &[&str]) -> String {
    let choices = 0..1_u32 << letters.len();
    let holds = |choice: u32| values >> choice & 1 == 1;
    let matters =
        |letter: &usize| choices.clone().any(|choice| holds(choice) != holds(choice ^ 1 << letter));
    let used: Vec<usize> = (0..letters.len()).filter(matters).collect();
    let chosen = choices.filter(|choice| {
        (0..letters.len()).all(|letter| used.contains(&letter) || choice >> letter & 1 == 0)
    });
    let bits = chosen.map(|choice| if holds(choice) { '1' } else { '0' });
    used.iter().map(|letter| letters[*letter]).chain(std::iter::once(",")).collect::<String>()
        + &bits.collect::<String>()
}

struct Reader<'a> {
    signs: &'a [&'a str],
    at: usize,
    letters: &'a [&'a str],
    /// True if letters side by side stand for all of their events.
    beside: bool,
}

/// Signs between statements, from the loosest to the tightest.
const JOINED: [&str; 4] = [
    "\\iff \\leftrightarrow \\Leftrightarrow \\Longleftrightarrow \\equiv",
    "\\to \\rightarrow \\implies \\Rightarrow \\Longrightarrow",
    "\\cup \\vee \\lor \\oplus \\veebar +",
    "\\cdot \\cap \\wedge \\land \\setminus \\backslash",
];

impl Reader<'_> {
    fn eat(&mut self, signs: &str) -> Option<&str> {
        let sign = *self.signs.get(self.at)?;
        lists(signs, sign).then(|| self.at += 1).map(|()| sign)
    }

    fn level(&mut self, level: usize) -> Option<Values> {
        let Some(signs) = JOINED.get(level) else { return self.factor() };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = self.eat(signs).map(str::to_owned) {
            // `p \to q \to r` is `p \to (q \to r)`.
            let right = self.level(if level == 1 { 1 } else { level + 1 })?;
            left = match sign.as_str() {
                "\\oplus" | "\\veebar" => left ^ right,
                "\\setminus" | "\\backslash" => left & !right,
                _ if level == 0 => !(left ^ right),
                _ if level == 1 => !left | right,
                _ if level == 2 => left | right,
                _ => left & right,
            };
        }
        Some(left)
    }

    fn factor(&mut self) -> Option<Values> {
        let mut value = self.complemented()?;
        let letters = self.letters;
        let begins =
            |sign: &&str| letters.contains(sign) || lists("\\overline \\bar ( \\neg", sign);
        while self.beside && self.signs.get(self.at).is_some_and(begins) {
            value &= self.complemented()?;
        }
        Some(value)
    }

    /// Reads `A'` or `(A + B)^c`.
    fn complemented(&mut self) -> Option<Values> {
        let mut value = self.primary()?;
        while self.eat("' ^").is_some() {
            if self.signs[self.at - 1] == "^" {
                let braced = self.eat("{").is_some();
                self.eat("c C \\complement \\prime")?;
                if braced {
                    self.eat("}")?;
                }
            }
            value = !value;
        }
        Some(value)
    }

    fn primary(&mut self) -> Option<Values> {
        if self.eat("\\neg \\lnot \\sim \\overline \\bar \\complement").is_some() {
            // `\bar A B` complements one of two factors.
            let alone = self.beside || self.signs.get(self.at) == Some(&"{");
            let denied = if alone { self.primary() } else { self.factor() };
            return denied.map(|value| !value);
        }
        for [open, close] in [["(", ")"], ["{", "}"]] {
            if self.eat(open).is_some() {
                let inner = self.level(0)?;
                return self.eat(close).map(|_| inner);
            }
        }
        let sign = *self.signs.get(self.at)?;
        let letter = self.letters.iter().position(|letter| *letter == sign)?;
        self.at += 1;
        let choices = 0..1_u32 << self.letters.len();
        Some(choices.filter(|choice| choice >> letter & 1 == 1).map(|choice| 1 << choice).sum())
    }
}

/// Returns the cycles of a permutation in two rows.
pub(super) fn permutation(rows: &[Vec<Expression>]) -> Option<String> {
    let number = |entry: &Expression| entry.literal()?.numerator().try_into().ok();
    let [from, to] = rows else { return None };
    let from: Vec<usize> = from.iter().map(number).collect::<Option<_>>()?;
    let to: Vec<usize> = to.iter().map(number).collect::<Option<_>>()?;
    let mut sorted = to.clone();
    sorted.sort_unstable();
    if !from.iter().copied().eq(1..=to.len()) || sorted != from {
        return None;
    }
    let mut seen = vec![false; to.len()];
    let mut text = String::new();
    for start in 1..=to.len() {
        let mut place = start;
        while !std::mem::replace(&mut seen[place - 1], true) {
            text += if place == start { "(" } else { " " };
            text += &place.to_string();
            place = to[place - 1];
        }
        text += if text.ends_with(')') { "" } else { ")" };
    }
    cycles(&text)
}

/// Returns a permutation in cycles, `(1\ 2\ 3)(4\ 5)`: each from its least number on, in the order of these.
///
/// `None` if the cycles share a number, or the text may mean something else.
pub(super) fn cycles(text: &str) -> Option<String> {
    let plain = pattern!(r"\\(?:left|right)(?-u:\b)|\\[,;: ]|\\q?quad").replace_all(text, " ");
    let all = pattern!(r"^(?:\s*\(\s*[0-9]+(?:\s+[0-9]+)*\s*\))+\s*$");
    if text.len() > LONGEST || !plain.contains(' ') || !all.is_match(&plain) {
        return None;
    }
    let cycle = |cycle: &str| {
        let mut numbers: Vec<u32> =
            cycle.split_whitespace().map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let least = numbers.iter().enumerate().min_by_key(|(_, number)| **number)?.0;
        numbers.rotate_left(least);
        Some(numbers)
    };
    let inner = plain.split(['(', ')']).filter(|part| !part.trim().is_empty());
    let mut cycles: Vec<Vec<u32>> = inner.map(cycle).collect::<Option<_>>()?;
    // Of one number each, these are no cycles.
    cycles.retain(|cycle| cycle.len() > 1);
    cycles.sort_unstable();
    let mut numbers: Vec<&u32> = cycles.iter().flatten().collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    (count > 0 && numbers.len() == count).then(|| format!("cycles {cycles:?}"))
}
