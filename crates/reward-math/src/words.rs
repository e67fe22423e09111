//! Plain language: words, choices, units, numbers written as words.

mod comma;
mod measure;
mod number;

pub(crate) use comma::{with_decimal_point, writes_decimal_commas};
pub(crate) use measure::{contradict, conversion, is_measure, parts, qualifies, unit};
pub(crate) use number::{magnitude, number, part};

use std::sync::LazyLock;

use crate::language::phrases;
use crate::table::{Table, lists, without};

/// One wording for phrases of equal meaning.
static SYNONYMS: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("words/synonyms.txt"), '|'));
/// Words that set a condition, deny, bound or conclude.
static SENTENCE: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("words/sentence.txt"), ' '));
/// Full names of months.
static MONTHS: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("words/months.txt"), ' '));

/// Returns words without case, articles, LaTeX, punctuation and plural; `None` if there is no word.
///
/// A formula that could not be parsed only loses its spaces: every sign may count there.
pub(crate) fn normalise(folded: &str) -> Option<String> {
    let (plain, formula) = without_commands(folded);
    let words: Vec<&str> = if formula {
        folded.split_whitespace().collect()
    } else {
        plain
            .split_whitespace()
            .filter(|word| !matches!(*word, "the" | "a" | "an" | "there" | "is" | "are" | "it"))
            .map(|word| without_ordinal(word.trim_end_matches([',', ':', ';'])))
            .filter(|word| !word.is_empty())
            .map(measure::singular)
            .map(|word| MONTHS.name(word).unwrap_or(word))
            .collect()
    };
    let mut words = words;
    // "4 July" as "July 4".
    if let [day, month, ..] = words.as_mut_slice()
        && MONTHS.name(month).is_some()
        && day.bytes().all(|byte| byte.is_ascii_digit())
    {
        std::mem::swap(day, month);
    }
    let words = match words.as_slice() {
        ["on" | "in" | "at", rest @ ..] | [rest @ .., "function"]
            if !rest.is_empty() && !formula =>
        {
            rest
        }
        all => all,
    };
    let joined = words.join(" ");
    if !joined.chars().any(char::is_alphabetic) {
        return None;
    }
    Some(SYNONYMS.name(&joined).unwrap_or(&joined).to_owned())
}

/// Returns true if two normalised texts agree, in any order of what "and" joins.
pub(crate) fn same(left: &str, right: &str) -> bool {
    let parts = |text: &str| {
        let mut parts: Vec<String> = text.split(" and ").map(str::to_owned).collect();
        parts.sort_unstable();
        parts
    };
    left == right || parts(left) == parts(right)
}

/// Returns true if a word makes what is said conditional, denied or a bound: "if", "not", "at least".
pub(crate) fn takes_back(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| matches!(SENTENCE.name(word), Some("condition" | "denial" | "bound")))
        || measure::qualifies(text)
}

/// Returns true for a label that [`takes_back`], or that begins with "for" or "at", as a condition does.
pub(crate) fn sets_condition(label: &str) -> bool {
    let first = label.split(' ').next().unwrap_or_default();
    SENTENCE.name(first) == Some("setting") || takes_back(label)
}

/// Returns true if the text begins with a word of conclusion: "so", "hence".
pub(crate) fn concludes(text: &str) -> bool {
    let first = text.split([' ', ',', ':']).next().unwrap_or_default().to_lowercase();
    SENTENCE.name(&first) == Some("conclusion")
}

/// Returns true if the text holds signs or commands of mathematics.
pub(crate) fn holds_formula(folded: &str) -> bool {
    without_commands(folded).1
}

/// Returns the number in `5th`.
fn without_ordinal(word: &str) -> &str {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let ordinal = matches!(&word[digits.len()..], "st" | "nd" | "rd" | "th");
    if ordinal && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits;
    }
    word
}

/// Returns the text in lower case without layout commands, and whether it holds mathematics.
fn without_commands(folded: &str) -> (String, bool) {
    let mut plain = String::with_capacity(folded.len());
    let mut formula = false;
    let mut rest = folded;
    let mut letters_before = 0;
    while let Some(c) = rest.chars().next() {
        if c == '\\' {
            let name = rest[1..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len() - 1);
            let command = &rest[1..=name];
            let decoration = command.starts_with("text")
                || lists(" mathrm mathbf mbox left right operatorname mathbb quad", command);
            formula |= !decoration;
            if command == "mathbb" {
                plain.push_str(command);
            }
            plain.push(' ');
            let skip = 1 + name.max(
                rest[1..].chars().next().map_or(0, |c| if name == 0 { c.len_utf8() } else { 0 }),
            );
            rest = &rest[skip..];
            continue;
        }
        formula |= matches!(c, '^' | '_' | '=' | '+' | '<' | '>' | '|' | '/' | '*');
        let after = &rest[c.len_utf8()..];
        // "right-angled", not a difference of letters.
        let hyphen = c == '-'
            && letters_before > 1
            && after.chars().take(2).filter(|c| c.is_alphabetic()).count() == 2;
        formula |= c == '-' && !hyphen;
        match c {
            '{' | '}' | '$' | '.' | '!' | '?' | '"' | '(' | ')' => plain.push(' '),
            _ if hyphen => plain.push(' '),
            c => plain.extend(c.to_lowercase()),
        }
        letters_before = if c.is_alphabetic() { letters_before + 1 } else { 0 };
        rest = after;
    }
    (plain, formula)
}

/// Returns true for a word that joins the members of a list.
pub(crate) fn is_conjunction(word: &str) -> bool {
    phrases("conjunction").contains(&word.trim().to_lowercase().as_str())
}

/// Returns the letters of a multiple choice, sorted: `B`, `(B)`, `B.`, `\textbf{(B)} 12`, `option B`, `B: 5`; `A, D`.
pub(crate) fn choices(folded: &str) -> Vec<char> {
    let text = undecorated(folded);
    if let Some(letter) = choice(text) {
        return vec![letter];
    }
    if let Some(letters) = run_of_choices(text) {
        return letters;
    }
    // A bracket that never closes does not make a list.
    if text.matches('(').count() != text.matches(')').count() {
        return Vec::new();
    }
    let mut letters = letters(text, is_choice).unwrap_or_default();
    letters.dedup();
    letters
}

/// Returns the accepted letters between separators, sorted; `None` if there is anything else.
fn letters(text: &str, accepts: impl Fn(char) -> bool) -> Option<Vec<char>> {
    let parts = text.trim_end_matches('}').split([',', ';', ' ', '&']);
    let letters: Option<Vec<char>> = parts
        .map(|part| part.trim_matches(['(', ')', '.', '$', '{', '}']))
        .filter(|part| !matches!(*part, "" | "and" | "\\text"))
        .map(|part| part.chars().next().filter(|c| accepts(*c) && part.len() == c.len_utf8()))
        .collect();
    let mut letters = letters?;
    letters.sort_unstable();
    Some(letters)
}

/// Returns the capitals of choices in small letters: `(b)`, `b.`, `\text{b}`, `a, c`; of a bare `b` only if `bare` says so.
pub(crate) fn small_choices(spelling: &str, bare: bool) -> Vec<char> {
    let text = undecorated(spelling);
    let mut letters = letters(text, |c| ('a'..='j').contains(&c)).unwrap_or_default();
    let marked = text.len() < spelling.len() || text.ends_with([')', '.']) || letters.len() > 1;
    if !marked && !bare {
        return Vec::new();
    }
    letters.iter_mut().for_each(char::make_ascii_uppercase);
    letters
}

/// Returns true for a capital letter, or a number in a circle, as Chinese papers number statements.
fn is_choice(letter: char) -> bool {
    ('A'..='J').contains(&letter) || is_circled(letter)
}

fn is_circled(letter: char) -> bool {
    ('①'..='⑨').contains(&letter)
}

/// Returns the letters of `ACD`: several choices without separators, in ascending order.
fn run_of_choices(text: &str) -> Option<Vec<char>> {
    let mut letters: Vec<char> = text.trim_end_matches(['}', '.']).chars().collect();
    if letters.len() > 1 && letters.iter().copied().all(is_circled) {
        letters.sort_unstable();
        letters.dedup();
        return Some(letters);
    }
    let rising = letters.windows(2).all(|pair| pair[0] < pair[1]);
    let choices = letters.iter().all(|letter| ('A'..='F').contains(letter));
    (letters.len() > 1 && rising && choices).then_some(letters)
}

fn undecorated(folded: &str) -> &str {
    let mut text = folded.trim();
    // `(\text{B})` as `\text{(B)}`.
    for name in ["(\\textbf{", "(\\text{", "(\\mathrm{", "(\\mathbf{"] {
        if let Some(letter) = text.strip_prefix(name).and_then(|rest| rest.strip_suffix("})")) {
            text = letter;
        }
    }
    for name in ["\\textbf", "\\text", "\\mathrm", "\\mathbf", "\\mbox"] {
        text =
            text.strip_prefix(name).map_or(text, |rest| rest.trim_start().trim_start_matches('{'));
    }
    for prefix in phrases("before a choice") {
        text = text.strip_prefix(*prefix).map_or(text, str::trim_start);
    }
    text.trim_end_matches('项')
}

/// Returns the text after the letter of a choice: `12` in `\textbf{(B)}\ 12`, `(B) 12` and `B. 12`.
pub(crate) fn behind_choice(folded: &str) -> Option<&str> {
    let text = undecorated(folded);
    choice(text)?;
    let (bracketed, text) = text.strip_prefix('(').map_or((false, text), |rest| (true, rest));
    let behind = text.strip_prefix(is_choice)?.trim_start_matches([' ', '}']);
    let mark = behind.strip_prefix(if bracketed { &[')'][..] } else { &[')', '.', ':'] })?;
    // `(B)(x + 1)` may be a product.
    let rest = mark.trim_start_matches(['}', ' ']);
    let spaces = [r"\ ", r"\,", r"\;", r"\quad", r"\qquad", "~"];
    let rest = spaces.iter().fold(rest, |rest, space| rest.strip_prefix(space).unwrap_or(rest));
    let apart = rest.len() < mark.len();
    let rest = rest.trim_start();
    (apart && !rest.is_empty()).then_some(rest)
}

fn choice(text: &str) -> Option<char> {
    let bracketed = text.strip_prefix('(');
    let text = bracketed.unwrap_or(text);
    let mut characters = text.chars();
    let letter = characters.next().filter(|c| is_choice(*c))?;
    let rest = characters.as_str().trim_start_matches([' ', '}']);
    let closed = rest.starts_with(')');
    // "A) and D)" are two choices.
    if bracketed.is_some() || closed {
        let after = rest.strip_prefix(')').unwrap_or(rest).trim_start();
        let another = after.starts_with([',', '&']) || after.starts_with("and ");
        return (closed && !another).then_some(letter);
    }
    (rest.is_empty() || rest.starts_with(['.', ':'])).then_some(letter)
}

/// Reads a time of day with its half: `1:03 p.m.` becomes "clock 13:03".
pub(crate) fn clock(folded: &str) -> Option<String> {
    const LONGEST: usize = 64;
    const DECORATION: [&str; 9] = ["\\text", "\\mathrm", "\\,", "\\;", "\\ ", " ", ".", "{", "}"];
    if folded.len() > LONGEST {
        return None;
    }
    let plain = without(&folded.to_lowercase(), &DECORATION);
    let plain = match plain.as_str() {
        "noon" => "12pm",
        "midnight" | "12midnight" => "12am",
        other => other,
    };
    let afternoon = plain.strip_suffix("noon").or_else(|| plain.strip_suffix("pm"));
    let digits = afternoon.or_else(|| plain.strip_suffix("am"))?;
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "00"));
    let two_digits = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    if !two_digits(hours) || !two_digits(minutes) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if !(1..=12).contains(&hours) || minutes >= 60 {
        return None;
    }
    let hours = hours % 12 + if afternoon.is_some() { 12 } else { 0 };
    Some(format!("clock {hours}:{minutes:02}"))
}
