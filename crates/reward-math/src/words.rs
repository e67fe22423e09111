//! Plain language: words, choices, units, numbers written as words.

mod clock;
mod comma;
mod measure;
mod number;

pub(crate) use clock::{clock, spoken_time};
pub(crate) use comma::{with_decimal_point, without_points, writes_decimal_commas};
pub(crate) use measure::{contradict, conversion, is_measure, parts, qualifies, unit};
pub(crate) use number::{magnitude, number, only_number, part};

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Captures;

use crate::table::{Table, captured, lists, pattern, phrases, tail, unwrapped};

/// One wording for phrases of equal meaning.
static SYNONYMS: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("words/synonyms.txt"), '|'));
/// Words that set a condition, deny, bound or conclude.
static SENTENCE: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("words/sentence.txt"), ' '));
const MONTH_NAMES: &str = include_str!("words/months.txt");
static MONTHS: LazyLock<Table> = LazyLock::new(|| Table::new(MONTH_NAMES, ' '));

/// Returns words without case, articles, LaTeX, punctuation and plural, a formula without spaces; `None` if there is no word.
pub(crate) fn normalise(folded: &str) -> Option<String> {
    // A hyphen may join the numbers of a date.
    if !folded.contains(|c: char| c.is_alphabetic() || c == '-') {
        return None;
    }
    let (plain, formula) = without_commands(folded);
    // "2024-03-05"
    let date = pattern!(
        r"^(?:\\text\s*\{)?\s*([0-9]{4})-(0[1-9]|1[0-2])-0?([1-9]|[12][0-9]|3[01])\s*\}?$"
    );
    if let Some(parts) = date.captures(folded) {
        let place = parts[2].parse::<usize>().ok()?.checked_sub(1)?;
        let (month, _) = MONTH_NAMES.lines().nth(place)?.split_once(':')?;
        return Some(format!("{month} {} {}", &parts[3], &parts[1]));
    }
    let ordinal = pattern!("^([0-9]+)(?:st|nd|rd|th)$");
    let mut words: Vec<&str> = if formula {
        folded.split_whitespace().collect()
    } else {
        plain
            .split_whitespace()
            .filter(|word| !matches!(*word, "the" | "a" | "an" | "there" | "is" | "are" | "it"))
            // "5th"
            .map(|word| unwrapped(ordinal, word.trim_end_matches([',', ':', ';'])))
            .filter(|word| !word.is_empty())
            .map(measure::singular)
            .map(|word| MONTHS.name(word).unwrap_or(word))
            .collect()
    };
    // "14th of March"
    if let [_, "of", month, ..] = words.as_slice()
        && MONTHS.name(month).is_some()
    {
        words.remove(1);
    }
    // "4 July" as "July 4".
    if let [day, month, ..] = words.as_mut_slice()
        && MONTHS.name(month).is_some()
        && day.bytes().all(|byte| byte.is_ascii_digit())
    {
        std::mem::swap(day, month);
    }
    let words = match words.as_slice() {
        ["on" | "in" | "at" | "serie" | "series" | "sequence" | "integral", rest @ ..]
        | [rest @ .., "function"]
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
    // "Such an integer does not exist", "there is no such pair"
    let none = pattern!(
        r"^(?:exist )?no such (?:[a-z]+ ?){1,3}$|^such (?:[a-z]+ ){1,3}(?:does?|do|can) ?not exist$|^does? not exist such [a-z]+(?: [a-z]+)?$"
    );
    let synonym = SYNONYMS.name(&joined);
    let synonym = synonym
        .or_else(|| (joined.contains("such ") && none.is_match(&joined)).then_some("no solution"));
    Some(synonym.unwrap_or(&joined).to_owned())
}

/// Returns true if two normalised texts agree, in any order of what "and" joins.
pub(crate) fn same(left: &str, right: &str) -> bool {
    let parts = |text: &str| {
        let text = text
            .trim_end_matches("条件")
            .trim_end_matches(" only")
            .trim_end_matches(" from given information")
            .trim_start_matches("all ")
            .replace(" has winning strategy", " win")
            .replace("one or more", "at least one");
        // "an isosceles right triangle"
        let between = if text.ends_with(" triangle") { " " } else { " and " };
        let mut parts: Vec<String> = text.split(between).map(str::to_owned).collect();
        parts.sort_unstable();
        parts
    };
    left == right
        || parts(left) == parts(right)
        || without_and(left) == without_and(right)
        || adds_category(left, right)
        || adds_category(right, left)
}

/// Returns true if the first text only adds the noun or function to the second: "removable singularity", "saddle point of f".
fn adds_category(long: &str, short: &str) -> bool {
    let noun = long.strip_prefix(short).and_then(|noun| noun.strip_prefix(' '));
    let plain = || short.len() > 2 && !takes_back(short) && number(short).is_none();
    let of_function = pattern!(r"^of (?:[fgh](?: x| x,? y)?|function|graph|curve|surface)$");
    let is_noun =
        |noun| phrases("noun of a category").contains(&noun) || of_function.is_match(noun);
    noun.is_some_and(is_noun) && plain()
}

/// Returns true if the first property is the stricter one: "strictly increasing" for "increasing".
pub(crate) fn implies(strict: &str, property: &str) -> bool {
    strict.strip_prefix("strictly ") == Some(property)
        && lists("increasing decreasing monotonic monotone convex concave", property)
}

/// Returns the property or winner that a sentence states: "f is an even function", "Bob has a winning strategy".
pub(crate) fn stated(folded: &str) -> Option<String> {
    // "Bob (the second player)"
    let named = pattern!(r"^(?:\\text(?:bf|it)?\{)?([^(){}]+?)\s*\([^()]*\)\}?$").captures(folded);
    // `P(A)` is no name with a remark.
    let plain = |named: &Captures<'_>| {
        !without_commands(&named[1]).1 && pattern!(r"\p{Alphabetic}{2}").is_match(&named[1])
    };
    // "inconsistent (no solution)"
    let twice = pattern!(r"^(?:\\text\{)?([a-zA-Z ]+)[(,] ?([a-zA-Z ]+)\)?\}?$").captures(folded);
    if let Some(twice) = twice
        && let Some(words) = normalise(&twice[1])
        && normalise(&twice[2]).as_ref() == Some(&words)
    {
        return Some(words);
    }
    if let Some(named) = named.filter(|_| !takes_back(&folded.to_lowercase())).filter(plain) {
        let named = named[1].trim_end();
        return stated(named).or_else(|| normalise(named));
    }
    // `K_{3,3}\text{ is not planar}`
    let of_formula = pattern!(
        r"^[^A-Za-z]?[^{}]*(?:\{[^{}]*\}[^{}]*)*\\text\s*\{\s*(?:(?:is|are) (?:an? )?([a-zA-Z -]+)|(diverges|converges))\s*\}$"
    );
    let property = captured(of_formula, folded).filter(|_| folded.matches("\\text").count() == 1);
    if let Some(property) = property {
        return normalise(property.as_str());
    }
    let (plain, formula) = without_commands(folded);
    // "Evelyn has the greatest speed"
    let first = pattern!(r"^\s*([a-z]+) (?:[a-z]+ ){1,2}(?:‹most of all›|[a-z]{3,}est)\b");
    if let Some(name) = captured(first, &plain).filter(|_| !takes_back(&plain.to_lowercase())) {
        return normalise(name.as_str());
    }
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    // "El sistema no tiene solución"
    let none = pattern!(r"(?:^|\b)(?:‹says that there is none›)$");
    if !formula && none.is_match(&plain) && !is_conditional(&plain) {
        return Some("no solution".to_owned());
    }
    let sentence = pattern!(
        r"^(?:.*\b(?:is|are|will be|was|ist|est|sera|será) (?:an? |ein |un |uno |um )?(.+?)(?: function| number)?|(.+?) (?:(?:has|have) a winning strategy|wins))$"
    );
    let property = captured(sentence, &plain).filter(|_| !formula && !takes_back(&plain))?;
    normalise(property.as_str())
}

/// Returns the directions that the words name.
pub(crate) fn directions(words: &str) -> BTreeSet<&str> {
    let directions = phrases("direction of motion");
    let words = words.split(|c: char| !c.is_alphabetic());
    words.filter(|word| directions.contains(word)).collect()
}

/// Returns the words that "and" joins: "I and III only" as "I, III".
fn without_and(text: &str) -> String {
    text.trim_end_matches(" only").trim_start_matches("only ").replace(" and ", " ")
}

/// Returns true if a word makes what is said conditional, denied or a bound: "if", "not", "at least".
pub(crate) fn takes_back(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| matches!(SENTENCE.name(word), Some("condition" | "denial" | "bound")))
        || measure::qualifies(text)
        || pattern!(r"\b(?:value|number) (?:below|under|above|over)\b|\b(?:upper|lower) bound\b")
            .is_match(text)
}

/// Returns true if a word sets a condition: "Yes, but only when n is even".
pub(crate) fn is_conditional(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| SENTENCE.name(word) == Some("condition"))
}

/// Returns true for a label that [`takes_back`], or that begins with "for" or "at", as a condition does.
pub(crate) fn sets_condition(label: &str) -> bool {
    let first = label.split(' ').next().unwrap_or_default();
    SENTENCE.name(first) == Some("setting") || takes_back(&without_event(label))
}

/// Removes the bounds of "the probability that the sum is at least 10", which bound no probability.
pub(crate) fn without_event(text: &str) -> String {
    // "The distance between the foci" is no bound either.
    let text =
        &*pattern!(r"\b(distance|angle|difference|ratio|area) between\b").replace(text, "$1");
    let start = text.trim_start();
    // `\text{P(at least three suits)}`
    if pattern!(r"^p(?:r|rob)? [a-z]{2}").is_match(start) {
        return String::new();
    }
    if !start.trim_start_matches("the ").starts_with("probability ") {
        return text.to_owned();
    }
    let bounds = pattern!(r"at (?:least|most)|(?:more|less|fewer|greater) than|between|\bnot?\b");
    bounds.replace_all(text, "").into_owned()
}

/// Returns true if the text begins with a word of conclusion: "so", "hence".
pub(crate) fn concludes(text: &str) -> bool {
    let text = text.trim_start_matches([',', ';', ' ']);
    let text = text.trim_start_matches("and ").trim_start_matches("we ");
    let first = text.split([' ', ',', ':']).next().unwrap_or_default().to_lowercase();
    SENTENCE.name(&first) == Some("conclusion")
        || ["所以", "因此", "故"].iter().any(|word| first.starts_with(word))
}

/// Returns true if the text holds signs or commands of mathematics.
pub(crate) fn holds_formula(folded: &str) -> bool {
    without_commands(folded).1
}

/// Returns the text in lower case without layout commands, and whether it holds mathematics.
fn without_commands(folded: &str) -> (String, bool) {
    let is_mathematics = |name: &str| {
        !name.starts_with("text")
            && !lists("mathrm mathbf mbox left right operatorname mathbb quad", name)
    };
    let mut pieces = folded.split('\\');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    let mut formula = false;
    while let Some(piece) = pieces.next() {
        let end = piece.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(piece.len());
        let (name, rest) = piece.split_at(end);
        formula |= !name.is_empty() && is_mathematics(name);
        plain.push_str(if name == "mathbb" { "mathbb " } else { " " });
        if name.is_empty() && !piece.is_empty() {
            // A command of one sign.
            plain.extend(rest.chars().skip(1));
        } else if piece.is_empty() {
            // `\\` is one command, too: what follows belongs to none.
            plain.push_str(pieces.next().unwrap_or_default());
        } else {
            plain.push_str(rest);
        }
    }
    // "right-angled", not a difference of letters; each hyphen of "well-to-do".
    let hyphen = pattern!(r"(\p{Alphabetic}{2})-(\p{Alphabetic}{2})");
    if plain.contains('-') {
        plain = hyphen.replace_all(&plain, "$1 $2").into_owned();
        plain = hyphen.replace_all(&plain, "$1 $2").into_owned();
    }
    formula |= plain.contains(['^', '_', '=', '+', '<', '>', '|', '/', '*', '-']);
    let marks = ['{', '}', '$', '.', '!', '?', '"', '(', ')'];
    (plain.replace(marks, " ").to_lowercase(), formula)
}

/// Returns true for a word that joins the members of a list.
pub(crate) fn is_conjunction(word: &str) -> bool {
    phrases("conjunction").contains(&word.trim().to_lowercase().as_str())
}

/// Most bytes before a value that may make another of it.
const LONGEST_OPENING: usize = 128;

/// Returns true if what follows is no value itself: "divisible by", "case", "when the radius is", "twice".
pub(crate) fn makes_another(before: &str) -> bool {
    let marks = ['*', '$', '{', '\\', ' '];
    let before = tail(before, LONGEST_OPENING);
    let before = before.strip_suffix("\\(").unwrap_or(before).trim_end_matches(marks);
    // "k cannot be less than 5" is a bound, "in this case" no number of a case.
    let other = pattern!(
        r"(?i)\b(?:not|be|no|never) [a-z]+ than$|\b(?:this|that|each|either|our|the|any|last|final|first|second) (?:case|step)$"
    );
    let another =
        pattern!(r"(?i)^\W*up to$|\b(?:(?:‹makes another value›)|when [^,.=0-9]{0,24} (?:is|=))$");
    another.is_match(before) && !other.is_match(before)
}

/// Returns the letters of a multiple choice, sorted: `B`, `(B)`, `B.`, `\textbf{(B)} 12`, `option B`, `B: 5`; `A, D`.
pub(crate) fn choices(folded: &str) -> Vec<char> {
    let text = undecorated(folded);
    if let Some((letter, _)) = choice(text) {
        return vec![letter];
    }
    if let Some(letters) = run_of_choices(text) {
        return letters;
    }
    // `\text{The valid ones are (A), (C) and (F)}`, `\text{Ellipse (E)}`
    let listed = pattern!(
        r"^[^{}]*\bare ((?:\(?[A-J]\)?(?:,? and |, )?){2,})\}?$|^[A-Za-z][^{}()]*[a-z] (\([A-J]\))\}?$"
    );
    let listed = captured(listed, text);
    // "anything but (D)"
    let before = listed.map_or("", |listed| &text[..listed.start()]).trim_end();
    let others =
        pattern!(r"(?i)\b(?:any|all|every|each)[a-z]*(?: [a-z]+)? (?:but|except|besides)$");
    if makes_another(before) || others.is_match(before) {
        return Vec::new();
    }
    let text = listed.map_or(text, |listed| listed.as_str());
    // A bracket that never closes does not make a list, and one around three letters in another order makes an order.
    let brackets = text.matches('(').count();
    let written: Vec<char> = text.chars().filter(|c| is_choice(*c)).collect();
    let ordered =
        brackets == 1 && text.starts_with('(') && written.len() > 2 && !written.is_sorted();
    if brackets != text.matches(')').count() || ordered {
        return Vec::new();
    }
    let mut letters = letters(text, is_choice).unwrap_or_default();
    letters.dedup();
    letters
}

/// Returns the accepted letters between separators, sorted; `None` if there is anything else.
fn letters(text: &str, accepts: impl Fn(char) -> bool) -> Option<Vec<char>> {
    let text =
        pattern!(r"\\(?:[,;:!\x20]|(?:q?quad|text(?:bf)?|mathrm)(?-u:\b))").replace_all(text, " ");
    let parts = text.trim_end_matches('}').split([',', ';', ' ', '&']);
    let mut letters: Vec<char> = parts
        .map(|part| part.trim_matches(['(', ')', '.', '$', '{', '}']))
        .filter(|part| !matches!(*part, "" | "and"))
        .map(|part| part.chars().next().filter(|c| accepts(*c) && part.len() == c.len_utf8()))
        .collect::<Option<_>>()?;
    letters.sort_unstable();
    Some(letters)
}

/// Returns the capitals of choices in small letters: `(b)`, `b.`, `\text{b}`, `a, c`; of a bare `b` only if `bare` says so.
pub(crate) fn small_choices(spelling: &str, bare: bool) -> Vec<char> {
    // `\text{(d) } \mathbb{Z}_4`
    let labelled = pattern!(r"^(?:\\text(?:bf)?\{)?\(([a-j])\)[^+*/^=()-]+$");
    let text = captured(labelled, spelling).map_or(undecorated(spelling), |text| text.as_str());
    let mut letters = letters(text, |c| ('a'..='j').contains(&c)).unwrap_or_default();
    let marked = text.len() < spelling.len() || text.ends_with([')', '.']) || letters.len() > 1;
    if !marked && !bare {
        return Vec::new();
    }
    letters.iter_mut().for_each(char::make_ascii_uppercase);
    letters
}

/// Returns the numbers in circles of `1, 3` and `(1), (3)`: two or more.
pub(crate) fn numbered_choices(spelling: &str) -> Vec<char> {
    let digits = letters(spelling, |c| ('1'..='9').contains(&c)).unwrap_or_default();
    let circle = |digit: char| char::from_u32(u32::from('①') + u32::from(digit) - u32::from('1'));
    digits.iter().filter(|_| digits.len() > 1).filter_map(|digit| circle(*digit)).collect()
}

/// Returns true if a list is an order, and another holds its letters in another one: `A, B, D, E, C`, but no choice `D, A, B`.
pub(crate) fn in_another_order(other: &str, order: &str) -> bool {
    let (Some(other), Some(order)) = (listed(other), listed(order)) else { return false };
    let (mut sorted, mut other_sorted) = (order.clone(), other.clone());
    sorted.sort_unstable();
    other_sorted.sort_unstable();
    let rises = sorted == order;
    let is_run = sorted.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    // `L, R, R, L` are moves.
    let repeats = sorted.windows(2).any(|pair| pair[0] == pair[1]);
    let is_order = repeats || is_run && (!rises || order.len() > 3);
    is_order && other_sorted == sorted && other != order
}

/// Returns true for `DBEA` and `D, B, E, A`: a run of capital letters, and the same ones between commas.
pub(crate) fn spell_one_order(text: &str, other: &str) -> bool {
    let run = |run: &str, list: &str| {
        run.bytes().all(|byte| byte.is_ascii_uppercase())
            && listed(list).is_some_and(|letters| letters == run.as_bytes())
    };
    run(text, other) || run(other, text)
}

/// Returns the capital letters between commas, three or more, as written.
fn listed(spelling: &str) -> Option<Vec<u8>> {
    let plain = pattern!(r"\\text\{ *,? *(?:and)? *\}|\band |[ ]").replace_all(spelling, ",");
    let parts = plain.split(',').filter(|part| !part.is_empty());
    let letters: Vec<u8> = parts
        .map(|part| part.bytes().next().filter(|c| part.len() == 1 && c.is_ascii_uppercase()))
        .collect::<Option<_>>()?;
    (letters.len() > 2).then_some(letters)
}

/// Returns true for a capital letter, or a number in a circle, as Chinese papers number statements.
fn is_choice(letter: char) -> bool {
    matches!(letter, 'A'..='J' | '①'..='⑨')
}

/// Returns the letters of `ACD`: several choices without separators, letters in ascending order.
fn run_of_choices(text: &str) -> Option<Vec<char>> {
    let run = pattern!("^([A-F]{2,}|[①-⑨]{2,})[}.]*$").captures(text)?;
    let mut letters: Vec<char> = run[1].chars().collect();
    let rising = letters.windows(2).all(|pair| pair[0] < pair[1]);
    letters.sort_unstable();
    letters.dedup();
    (rising || !letters[0].is_ascii()).then_some(letters)
}

fn undecorated(folded: &str) -> &str {
    let text = folded.trim();
    // `(\text{B})` as `\text{(B)}`.
    let text = unwrapped(pattern!(r"^\(\\(?:textbf|text|mathrm|mathbf)\{(.*)\}\)$"), text);
    let decoration =
        pattern!(r"^[}\s]*(?:\\(?:textbf|text|mathrm|mathbf|mbox|boldsymbol|bm|bf|rm)\s*\{*)+");
    let plain = |text| decoration.find(text).map_or(text, |place| &text[place.end()..]);
    let mut text = plain(text);
    for prefix in phrases("before a choice") {
        text = text.strip_prefix(*prefix).map_or(text, str::trim_start);
    }
    let text = plain(text);
    text.trim_end_matches(['项', '번'])
}

/// Returns the letter of a choice and its text in brackets or behind a comma: "C (145°)", "D, 86%".
pub(crate) fn letter_and_text(text: &str) -> Option<(&str, &str)> {
    const LONGEST: usize = 256;
    let opens =
        text.trim_start_matches(['*', ' ', '(']).starts_with(|c: char| ('A'..='J').contains(&c));
    if !opens || text.len() > LONGEST {
        return None;
    }
    let parts = pattern!(
        r"^[*\s]*\(?([A-J])\)?\**(?:\s+[(（](.*[^()（）]|.*\([^()]*\).*)[)）]|, (.*[^A-J)\s].*)|（([^()（）]*)）)[*.。\s]*$"
    )
    .captures(text)?;
    let inner = parts.iter().skip(2).flatten().next()?.as_str();
    // "A, B and D" are several choices.
    let another = pattern!(r"^(?:and |or )?\(?[A-J]\)?(?:[,.;]|\s|$)").is_match(inner);
    (!another).then(|| (parts.get(1).map_or("", |letter| letter.as_str()), inner))
}

/// Returns the text after the letter of a choice: `12` in `\textbf{(B)}\ 12`, `(B) 12` and `B. 12`.
pub(crate) fn behind_choice(folded: &str) -> Option<&str> {
    let text = undecorated(folded);
    if let Some(small) = captured(pattern!(r"^\([a-e]\) +([^()\s][^()]*)$"), text) {
        return Some(small.as_str());
    }
    let (_, behind) = choice(text)?;
    // `(B)(x + 1)` may be a product.
    let space = pattern!(r"^(?:[} ~]|\\[ ,;]|\\q?quad)+").find(behind)?;
    Some(&behind[space.end()..]).filter(|rest| !rest.is_empty())
}

/// Returns the letter of a single choice, and the text behind its mark.
fn choice(text: &str) -> Option<(char, &str)> {
    if !text.starts_with(|c: char| c == '(' || is_choice(c)) {
        return None;
    }
    let label = pattern!(r"^(?:\((?:\\(?:mathrm|mathbf|text|textbf)\{)?([A-J①-⑨])[ }]*\)|([A-J①-⑨])[ }]*(?:[).:]|$|\\text\{ *\())")
        .captures(text)?;
    let letter = label.get(1).or(label.get(2))?.as_str().chars().next()?;
    let behind = &text[label[0].len()..];
    // "A) and D)" are two choices.
    let another = label[0].ends_with(')')
        && pattern!(r"^ *(?:[,&]|and |or ) *\(?[A-J](?-u:\b)").is_match(behind);
    // "A: 5, B: 3" gives values to two names.
    let named = label[0].ends_with(':') && pattern!(r"[,;] *(?:and )?[B-J] *:").is_match(behind);
    (!another && !named).then_some((letter, behind))
}
