//! Extraction without marks: the last formula, number, letter or sentence.

use std::ops::Range;
use std::sync::LazyLock;

use super::bold;
use super::conclusion;
use super::extracted::{Find, Rule, first_of, some_text};
use super::phrase::last_mark;
use crate::answer::Answer;
use crate::table::{
    Pattern, captured, captured_at_end, compiled, lists, pattern, phrases, single, tail,
};
use crate::words;

/// Bytes at the end of a text that may say that it ends without an answer.
const LAST_WORDS: usize = 256;

/// Length of the end of a text in which a last clause of at most 320 characters is searched, and first a number, in bytes.
const TAIL: usize = 4096;

/// The ways to find a number or formula at the end, in their order.
const NUMBERS: [Find; 9] = [
    listed,
    alternatives,
    stated,
    assignments,
    last_formula,
    plain_clause,
    inequality,
    last_structure,
    last_number,
];

/// Returns the first of the fallbacks that the text has; no number or formula if it ends without an answer.
pub(super) fn find(response: &str) -> Option<(Range<usize>, Rule)> {
    let gives_up = gives_up(response);
    let concluded = &response[..conclusion::end(response)];
    let number = || {
        if let Some(place) = conclusion::in_words(concluded) {
            return Some((place, Rule::LastSentence)).filter(|_| !gives_up);
        }
        // "… gets us to **July 4**.", before a remark
        let goes_on = concluded.len() < response.trim_end().len();
        if let Some(bold) = bold::at_the_end(concluded).filter(|_| goes_on) {
            return Some((bold, Rule::Bold));
        }
        let place = NUMBERS.iter().find_map(|find| find(concluded)).filter(|_| !gives_up)?;
        (!words::makes_another(&concluded[..place.start])).then_some((place, Rule::LastNumber))
    };
    first_of(response, &[(entire, Rule::Whole), (last_letter, Rule::LastLetter)])
        .or_else(|| first_of(concluded, &[(last_letter, Rule::LastLetter)]))
        .or_else(number)
        .or_else(|| first_of(response, &[(last_sentence, Rule::LastSentence)]))
}

/// Returns true if the end of a text says that there is no answer, or breaks off.
pub(crate) fn gives_up(response: &str) -> bool {
    let end = tail(response, LAST_WORDS).to_lowercase();
    // "Let me recount. So there are 7 apples."
    let goes_on =
        pattern!(r"\b(?:so|thus|hence|therefore|answer)\b[^.]*[0-9]|=[ $]*[0-9][^a-z,;]*$");
    let last = pattern!("‹gives up›").find_iter(&end).last();
    last.is_some_and(|phrase| !goes_on.is_match(&end[phrase.end()..]))
        || pattern!(r"[0-9][^0-9]*[.!?]\s+(?:[^0-9]{40,}[a-z]|[^0-9]*\b(?:we|the|an?|of|to|is|are|and|with|by|so|then|which|because|gives))\s*$").is_match(&end)
}

/// Returns the value to which a sentence behind "the answer is:" leads: "The total is $2 + $4 = $6."
pub(crate) fn value_of_sentence(sentence: &str) -> Option<&str> {
    let verb = pattern!(
        r"(?i)(?:\b(?:‹verb of a value›|‹verb of a result›|pays?|costs?|spends?|earns?)(?: [a-z]+){0,2}|=) *[$€£]?$"
    );
    let worded = pattern!(r"\p{Alphabetic}{3,}.* \p{Alphabetic}{2,}").is_match(sentence);
    let end = conclusion::end(sentence);
    let (place, _) = find(sentence).filter(|(place, rule)| {
        worded
            && *rule == Rule::LastNumber
            && place.end <= end
            && verb.is_match(&sentence[..place.start])
    })?;
    Some(&sentence[place])
}

/// Longest text that may be one answer, in bytes.
const LONGEST_ANSWER: usize = 256;

/// Returns all of the text, if it is a value or structure without words: `2\sqrt3`.
fn entire(response: &str) -> Option<Range<usize>> {
    let span = some_text(response, 0..response.len())?;
    let text = &response[span.clone()];
    // The result of `5 + 6 = 11` is its last side.
    let calculation = text.contains('=') && !text.contains(char::is_alphabetic);
    let plain = text.len() <= LONGEST_ANSWER
        && !calculation
        && !text.contains('\n')
        && !text.contains("boxed")
        && !pattern!(r"(?:^|\s)\p{Alphabetic}{2,}[,;:.]?(?:\s|$)").is_match(text);
    (plain && Answer::parse(text).is_ok_and(|answer| !answer.is_words())).then_some(span)
}

/// Returns the letter of a choice at the very end: "… therefore I think it's B".
fn last_letter(response: &str) -> Option<Range<usize>> {
    let text = response.trim_end().trim_end_matches(['.', '!', ')', ']', '*']);
    let letter = text.chars().next_back().filter(|c| matches!(c, 'A'..='J' | '①'..='⑨'))?;
    let before = &text[..text.len() - letter.len_utf8()];
    let announced = phrases("before a letter").iter().any(|word| before.ends_with(word));
    announced.then_some(before.len()..text.len())
}

/// A number with its sign, group separators, power of ten, minutes of a time, or percent sign.
#[derive(Debug, Clone)]
struct Found {
    span: Range<usize>,
    currency: bool,
}

/// Returns all numbers of a text from a place on, in order.
fn numbers(text: &str, from: usize) -> Vec<Found> {
    let number = pattern!(
        r"(?:[0-9]+ )?(?:[½⅓¼¾⅔⅛]+|[0-9]+/[0-9]+)|\.?[0-9]+(?:(?:[.,/:]|\{,\}| : )[0-9]+)*[½⅓¼¾⅔⅛]?(?: ?(?:[AP]M|[ap]\.?m)\b)?(?:[eE][-+]?[0-9]+)?(?: ?[×x] ?10(?:\^\{?[-−]?[0-9]+\}?|[⁻⁺]?[⁰¹²³⁴-⁹]+))?(?: ?[%‰])?(?: (?:thousand|million|billion|trillion)\b)?"
    );
    let numbers = number.find_iter(&text[from..]).filter_map(|number| {
        let (start, end) = (from + number.start(), from + number.end());
        let before = &text[..start];
        if before.ends_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        // `-$40`
        let unsigned = before.strip_suffix('$').unwrap_or(before).strip_suffix(['-', '−']);
        let unsigned = unsigned.filter(|left| !left.ends_with(|c: char| c.is_ascii_alphanumeric()));
        let before = unsigned.unwrap_or(before);
        // "1 in 292", "5 out of 12", "the ratio is 3 to 5"
        let near = before.ceil_char_boundary(before.len().saturating_sub(80));
        let ratio = pattern!(
            r"\bratio\b[^.\n]* ([0-9.]+) to $| (1) in $|\b(?:probability|chance|odds|likelihood)\b[^.\n]* ([0-9]+) out of $"
        );
        let ratio = captured(ratio, &before[near..]).map(|first| near + first.start());
        let euros = before.strip_suffix(['€', '£']).map(str::len);
        let start = ratio.or(euros).unwrap_or(before.len());
        let currency = ['$', '€', '£'];
        Some(Found {
            span: start..end,
            currency: before.trim_end().ends_with(currency)
                || text[end..].trim_start().starts_with(currency),
        })
    });
    numbers.collect()
}

/// Returns true if signs of a calculation stand beside the number: 3 in `2\sqrt3` and `x^2 + 3` is no answer.
fn is_in_formula(response: &str, number: &Range<usize>) -> bool {
    let before = response[..number.start].trim_end_matches([' ', '{', '(', '$']);
    let before = before.strip_suffix('\\').unwrap_or(before);
    let last_word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let behind = response[number.end..].trim_start_matches([' ', '}', ')']);
    // `**18**` is bold.
    let product = before.ends_with(" *") || behind.starts_with("* ");
    let closes =
        ["\\)", "\\]", "\\$", "\\%", "\\text"].iter().any(|close| behind.starts_with(close));
    // `2x − 15`
    let minus = before.strip_suffix(['-', '−']).and_then(|before| before.strip_suffix(' '));
    let subtracted = minus
        .is_some_and(|before| pattern!(r"(?:[0-9)²³]|(?:^|[^a-zA-Z])[a-zA-Z])$").is_match(before));
    // "Mn must be +7"
    let positive =
        before.ends_with('+') && pattern!(r"(?:\p{Alphabetic}{2,}|=) \+$").is_match(before);
    product
        || subtracted
        || before.ends_with(['+', '/', '^', '×', '÷', '·', '√']) && !positive
        || last_word.starts_with('\\') && !last_word.ends_with('=')
        || behind.starts_with(['+', '^', '/', '\\', '×', '÷', '·', '√']) && !closes
}

/// Returns the list of "the solutions are x = 1 and x = 4", in the last sentence or the one before it.
fn listed(response: &str) -> Option<Range<usize>> {
    let list = pattern!(
        r"(?i)\b(?:solutions|roots|zeros|(?:eigen)?values|numbers|soluciones|raíces|lösungen|nullstellen|racines)\b[^.\n$]{0,40}?(?: (?:are|son|sind|sont):?| ?:) ((?:[^\n$.]|\.[0-9])*?[0-9](?:[^\n$.]|\.[0-9])*?)\.?(?:\s[^.\n0-9]*\.)?\s*$"
    );
    let text = captured_at_end(list, response)?;
    let several = pattern!(r" (?:and|or|y|o|und|oder|et|ou) ").is_match(&response[text.clone()]);
    several.then_some(text)
}

/// Returns both of "the number is either 6 or 8".
fn alternatives(response: &str) -> Option<Range<usize>> {
    let both = pattern!(r"\beither ([^.\n]{1,40} or [^.\n]{1,40})\.?\s*$");
    let text = captured_at_end(both, response)?;
    Answer::parse(&response[text.clone()]).is_ok_and(|answer| !answer.is_words()).then_some(text)
}

/// Returns the value behind the last sentence's verb, before other numbers: "the minimum is −3, attained at x = 1".
fn stated(response: &str) -> Option<Range<usize>> {
    let value = pattern!(concat!(
        r"(?i)(?:^|[.!?\n]\s*)[^.!?\n]*?\b(?:‹verb of a value›) (?:exactly |somit |also |donc |thus )*(?:[a-z](?:\([^()]*\))? = )?",
        r"([-−]?(?:[0-9√π]|[({\[]\s*[-−]?[0-9])(?:[^;\n.!?]|\.[0-9])*?)(?:; (?:el valor|the value|the root)|,? (?:attained|achieved|reached|soit",
        r"|то есть|that is|i\.e\.|because|since|and not|porque)\b| \((?:das|that|which|or|i\.e\.)\b)",
        r"(?:[^\n.!?]|\.[0-9])*[0-9](?:[^\n.!?]|\.[0-9])*[.!]?$",
    ));
    let text = captured_at_end(value, response.trim_end())?;
    // "is 5 and the other is 7; together 12", "is 3 years younger, that is, 12 - 3 = 9"
    let one = !pattern!(r"[a-z]{4,}.*[0-9]|\b(?:‹compares quantities›)\b")
        .is_match(&response[text.clone()]);
    one.then_some(text)
}

/// Returns "x = 3, y = −1" at the end.
fn assignments(response: &str) -> Option<Range<usize>> {
    let assigned = pattern!(
        r"(?:^|[\n (])((?:[a-zA-Zλ][₁₂₃]? ?= ?[-−]?[0-9√½⅓¼¾⅔⅛][0-9./√]*(?:, (?:and |or )?| and | or )){1,4}[a-zA-Zλ][₁₂₃]? ?= ?[-−]?[0-9√½⅓¼¾⅔⅛][0-9./√]*)\.?\s*$"
    );
    captured_at_end(assigned, response)
}

/// Returns the inequality or membership at the end: "precisely when 2 ≤ x < 5", "x ∈ [−3, −2] ∪ [0, 1]".
fn inequality(response: &str) -> Option<Range<usize>> {
    let text = pattern!(
        r"(?:^|[\n (])((?:[a-z] ?[<>≤≥] ?[-−]?[0-9][0-9./]* (?:or|and) |[-−]?[0-9][0-9./]* ?[<≤] ?)?[a-z] ?[<>≤≥] ?[-−]?[0-9][0-9./]*|[a-zA-Z] ?∈ ?[^\n$]*[\])}])\.?\s*$"
    );
    captured_at_end(text, response)
}

/// Returns the interval, point or set at the end: "in interval notation: [−1, 5]".
fn last_structure(response: &str) -> Option<Range<usize>> {
    let structure = pattern!(
        r"(?:: |\bi\.e\.,? |\bthat is,? |\b(?:is|are|interval|point|set|coordinates|vector|pair|triple) )([\[({][^()\[\]{}\n]*[,;][^()\[\]{}\n]*[\])}])(?: in interval notation)?\.?\s*$"
    );
    let text = captured_at_end(structure, response)?;
    (!pattern!(r"[a-zA-Z]{3}").is_match(&response[text.clone()])).then_some(text)
}

/// Returns the formula without words behind the last verb or equals sign: "so P = (8, −2)", "amounts to 36π".
fn plain_clause(response: &str) -> Option<Range<usize>> {
    const VALUE: &str = r"([^\s$=≈][^\n$=]{0,79}?(?: = [^\n$=]{1,80}?){0,3})[.。]?\s*$";
    static CLAUSES: LazyLock<[Pattern; 2]> = LazyLock::new(|| {
        let verb = concat!(
            r"(?i).*(?:(?:(?:^|[.!?。]\s)(?:so|thus|hence|therefore),?",
            r"|\b(?:(?:‹verb of a value›|to be)(?: (?:therefore|thus|then|hence|now|still|exactly|just))?(?: at)?",
            r"(?: the (?:[a-z]+ )?(?:vector|point|matrix|pair|triple|interval|set))?",
            r"|‹verb of a result›)(?: us)?,?) |\p{Alphabetic}: |[为是] ?)",
        );
        [verb, ".*= ?"].map(|opening| compiled(&format!("{opening}{VALUE}")))
    });
    let worded = pattern!(
        r"(?i)^(?:an?|the)\b|['’]|[.!?:]\s|(?:^|[^\\\p{Alphabetic}])\p{Alphabetic}{3,}[,;]? \p{Alphabetic}{2,}"
    );
    let start = response.len() - tail(response, TAIL).len();
    CLAUSES.iter().find_map(|clause| {
        let place = captured_at_end(clause, &response[start..])?;
        let span = start + place.start..start + place.end;
        let text = &response[span.clone()];
        let value = Answer::parse(text).is_ok_and(|answer| !answer.is_words());
        let plain = !worded.is_match(&text.replace("square ", "").replace("cubic ", ""));
        (value && plain).then_some(span)
    })
}

/// Returns the last number, if no letters but a unit are attached to it.
fn last_number(response: &str) -> Option<Range<usize>> {
    // Most texts end in a number; those before it do not matter. No number holds a space.
    let near = tail(response, TAIL);
    let space = near.find(char::is_whitespace);
    let start = space.map_or(0, |space| response.len() - near.len() + space);
    // "1/2, and not 2": what is denied is no answer.
    let denied = |number: &Found| {
        let near = tail(&response[..number.span.start], 24);
        pattern!(r"(?i)\b(?:and not|, not|not have|isn.t|is not|rather than|instead of)[ $]*$")
            .is_match(near)
    };
    // "So there are 15 ways to put 4 balls in 3 boxes.", "Since there are 4, there are 4/2 = 2 in each."
    let counted = pattern!(
        r"(?:^|[.!?\n] *)[^.!?\n]*?\b[Tt]here (?:are|is) (?:exactly |only |a total of |in total )?(?:\$[^$\n]*= ?|[0-9/+*× -]+= ?)?([0-9][0-9,^{}!]*)\$? [a-z][^.!?\n]*[.!]?\s*$"
    );
    let reason = pattern!(r"(?i)\b(?:since|because|as|if|when|given that) there (?:are|is)[^,]*$");
    let mut from = start;
    let counts = std::iter::from_fn(|| {
        let count = captured(counted, &response[from..])?;
        let place = from + count.start()..from + count.end();
        from = place.end;
        Some(place)
    });
    let mut counts = counts.filter(|place| {
        let near = response.ceil_char_boundary(place.start.saturating_sub(LAST_WORDS));
        !reason.is_match(&response[near..place.start])
    });
    if let Some(count) = counts.next() {
        return Some(count);
    }
    let last = |from| numbers(response, from).into_iter().rev().find(|number| !denied(number));
    let number = last(start).or_else(|| last(0))?;
    if is_in_formula(response, &number.span) {
        return None;
    }
    let suffix: String =
        response[number.span.end..].chars().take_while(|c| c.is_alphanumeric()).collect();
    // "2x" and "4th" are no numbers; "99m²" is one.
    let unit = phrases("unit without a space");
    let plain = suffix.trim_end_matches(['²', '³']);
    // "the 12th grade"
    let ordinal = lists("st nd rd th", plain);
    // `12π` and `10⁵` are formulas; Greek and other letters may be a unit.
    let factor = suffix.starts_with(['π', '⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹', 'ⁿ']);
    let alone = !factor && (plain.is_empty() || !plain.is_ascii());
    (alone || ordinal || unit.contains(&plain)).then_some(number.span)
}

/// Returns the only number of a short text, or the only one that is an amount of money.
pub(crate) fn only_number(text: &str) -> Option<Range<usize>> {
    let numbers = numbers(text, 0);
    if let [only] = numbers.as_slice() {
        return Some(only.span.clone());
    }
    let amounts = numbers.into_iter().filter(|number| number.currency);
    single(amounts).map(|only| only.span)
}

/// Returns the last sentence of a text without numbers: the part after "is", or all of it.
fn last_sentence(response: &str) -> Option<Range<usize>> {
    if response.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let end = response.trim_end().trim_end_matches(['.', '!']).len();
    let start = response[..end].rfind(['.', '!', '\n', ':']).map_or(0, |at| at + 1);
    let sentence = &response[start..end];
    let behind = sentence.rfind(" is ").map_or(0, |at| at + " is ".len());
    some_text(response, start + behind..end)
}

/// Returns the last `$…$`, `\\(…\\)` or `\\[…\\]` with no digit after it; of "$n = 1.85$ at $20^\\circ$" the first.
pub(crate) fn last_formula(response: &str) -> Option<Range<usize>> {
    let (formula, place) = formula_at_end(response)?;
    match place {
        Some(end) => formula_at_end(&response[..end]).map(|(formula, _)| formula),
        None => Some(formula),
    }
}

/// Returns the last formula, and the end of the one beside it if it is the place of that.
fn formula_at_end(response: &str) -> Option<(Range<usize>, Option<usize>)> {
    // A display without marks: `\begin{align*} … \end{align*}`.
    let display = pattern!(r"\\end\{(align|gather)(\*?)\}\s*$").captures(response);
    if let Some(display) = display {
        let opening = format!("\\begin{{{}{}}}", &display[1], &display[2]);
        let display = some_text(response, response.rfind(&opening)?..response.len())?;
        return Some((display, None));
    }
    let (close, end) = ["$$", "$", "\\)", "\\]"]
        .into_iter()
        .filter_map(|close| Some((close, last_mark(response, close)?)))
        .max_by_key(|&(close, at)| (at + close.len(), close.len()))?;
    let open = match close {
        "\\)" => "\\(",
        "\\]" => "\\[",
        dollars => dollars,
    };
    let last = last_mark(&response[..end], open)?;
    let first = formulas_before(response, last, open, close);
    // "$-4$, attained when $x = 1$ and $y = 2$", "$a_n \to 0$ as $n \to \infty$"
    let place = pattern!(
        r"(?:(?:, )?(?:attained|achieved|reached|occurring) (?:only |exactly |precisely )?(?:at|when|if|for)| at| as|[,，]?当且仅当)\s*$"
    );
    let place = place.find(&response[..first]).map(|place| response[..place.start()].trim_end());
    let place = place.filter(|before| before.ends_with(close)).map(str::len);
    let start = first + open.len();
    let after = &response[end + close.len()..];
    // "Divide by $a$, which gives t = v/a."
    let goes_on = pattern!(r"\b(?:gives|get|so|thus|hence) [a-zA-Z] = ").is_match(after);
    if goes_on || after.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // The result of `5 + 7 = 12` is its last side.
    let calculation = !response[start..end].contains(char::is_alphabetic);
    let side = response[start..end].rfind('=').filter(|_| calculation).map_or(0, |at| at + 1);
    Some((some_text(response, start + side..end)?, place))
}

/// Returns the start of the first formula joined by "and", "or" and commas to the one at `start`.
fn formulas_before(response: &str, start: usize, open: &str, close: &str) -> usize {
    const MOST: usize = 16;
    let mut first = start;
    for _ in 0..MOST {
        let before = response[..first].trim_end();
        let joined = pattern!(concat!(
            r"(?:,|(?:^|\b)(?:‹conjunction›)|\b(?:with|where|for)(?: (?:an|some|any|all|every|each|arbitrary))?",
            r"(?: (?:positive|non-?negative|real|natural))?(?: (?:integers?|constants?|numbers?))?)$"
        ));
        let joined = joined.find(before).map(|word| &before[..word.start()]);
        let Some(inner) = joined
            .map(|before| before.trim_end().trim_end_matches(','))
            .and_then(|before| before.strip_suffix(close))
        else {
            break;
        };
        match last_mark(inner, open) {
            Some(at) => first = at,
            None => break,
        }
    }
    first
}
