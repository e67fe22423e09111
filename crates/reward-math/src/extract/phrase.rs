//! Phrases that announce an answer: "the answer is", "Answer:", "the correct option is", 答案是.

use std::ops::Range;

use super::span::some_text;

/// Words after which an answer may be announced, lower-case.
const ANCHORS: [&str; 20] = [
    "answer",
    "option",
    "choice",
    "result",
    "答案",
    "故选",
    "应选",
    "因此选",
    "所以选",
    "答案选",
    "选择",
    "选项",
    "réponse",
    "respuesta",
    "resposta",
    "risposta",
    "antwort",
    "odpowied",
    "ответ",
    "答え",
];

/// The letter of a choice of which the text says that it is the right one: "option B is correct", "(B) is the answer".
pub(super) fn letter_said_right(response: &str) -> Option<Range<usize>> {
    const CLAIMS: [&str; 7] = [
        " is correct",
        " is the correct",
        " is right",
        " is the right",
        " is the answer",
        "正确",
        "是正确",
    ];
    let at = CLAIMS.iter().filter_map(|claim| response.rfind(claim)).max()?;
    let before = response[..at].trim_end_matches([')', '*', '$', '}', ' ']);
    let letter = before.chars().next_back().filter(|c| ('A'..='J').contains(c))?;
    let start = before.len() - letter.len_utf8();
    let apart =
        before[..start].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
    apart.then_some(start..before.len())
}

/// What stands after the last phrase that announces something.
pub(super) fn last_phrase(response: &str) -> Option<Range<usize>> {
    // Only ASCII letters change, so that offsets stay.
    let lower = response.to_ascii_lowercase();
    let mut places: Vec<(usize, &str)> = ANCHORS
        .iter()
        .flat_map(|anchor| lower.match_indices(anchor).map(|(at, _)| (at, *anchor)))
        .collect();
    places.sort_unstable();
    places.into_iter().rev().find_map(|(at, anchor)| {
        let after = at + anchor.len();
        let announced = announcement(&response[after..], anchor)?;
        content(response, after + announced)
    })
}

/// How much of the text after the anchor belongs to the announcement, if it is one.
fn announcement(rest: &str, anchor: &str) -> Option<usize> {
    let mut at = rest.find(|c: char| c != '*' && c != ' ' && c != '_').unwrap_or(rest.len());
    for filler in ["to the problem", "to this problem", "to the question", "choice"] {
        if starts_with_ignoring_case(&rest[at..], filler) {
            at += filler.len();
            at += rest[at..].len() - rest[at..].trim_start_matches(['*', ' ', '_']).len();
        }
    }
    let chinese = matches!(anchor, "故选" | "应选" | "选项");
    let marks = [
        "is:", "is :", "is", "=", ":", "：", "是", "为", "选", "】", "es ", "ist ", "é ", "è ",
        "est ",
    ];
    if matches!(anchor, "故选" | "应选" | "因此选" | "所以选" | "答案选" | "选择") {
        let skipped = rest.len() - rest.trim_start_matches([':', '：', ' ', '(', '（', '*']).len();
        return rest[skipped..].starts_with(|c: char| ('A'..='J').contains(&c)).then_some(skipped);
    }
    let mark = marks.into_iter().find(|mark| starts_with_ignoring_case(&rest[at..], mark))?;
    // "result = 5 + 3" is a step; "option: " and "choice: " quote the question.
    if matches!(anchor, "option" | "choice" | "result") && !mark.starts_with("is")
        || chinese && !matches!(mark, "是" | "为" | ":" | "：")
    {
        return None;
    }
    let end = at + mark.len();
    let next = rest[end..].chars().next();
    if mark == "is" && next.is_some_and(char::is_alphanumeric) {
        return None;
    }
    Some(end)
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.as_bytes()
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// The answer that follows a phrase: a formula, a letter of a choice, or text up to the end of the sentence.
fn content(response: &str, start: usize) -> Option<Range<usize>> {
    let rest = &response[start..];
    let skipped = rest.find(|c: char| !c.is_whitespace() && c != '*' && c != ':')?;
    let start = start + skipped;
    // Only the same or the next line can hold it.
    if response[start - skipped..start].matches('\n').count() > 2 {
        return None;
    }
    if let Some(formula) = formula_at(response, start) {
        return some_text(response, formula);
    }
    let line = response[start..].find('\n').map_or(response.len(), |length| start + length);
    let end = sentence_end(response, start..line);
    let start = start + option_word(&response[start..end]);
    if let Some(letter) = leading_choice(&response[start..end]) {
        return some_text(response, start..start + letter);
    }
    some_text(response, behind_copula(response, start..end))
}

/// Bytes of "option" or "choice" before the letter.
fn option_word(text: &str) -> usize {
    for word in ["option ", "choice "] {
        if starts_with_ignoring_case(text, word)
            && text[word.len()..].starts_with(['A', 'B', 'C', 'D', 'E', '('])
        {
            return word.len();
        }
    }
    0
}

/// Bytes of the letter of a choice that a remark follows: "D, it doesn't make sense".
fn leading_choice(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let letter = characters.next().filter(|c| ('A'..='J').contains(c))?;
    let rest = characters.as_str();
    // 故选B。 and 故选B，因为…
    if rest.starts_with(['。', '，', '．', '）']) {
        return Some(letter.len_utf8());
    }
    let remark = rest.strip_prefix([',', ' ']).map(str::trim_start)?;
    let mut words = remark.chars();
    let begins_word = words.next().is_some_and(|c| c.is_ascii_lowercase())
        && words.next().is_some_and(|c| c.is_ascii_lowercase());
    let conjunction = ["and ", "or "].iter().any(|word| remark.starts_with(word));
    (begins_word && !conjunction).then_some(letter.len_utf8())
}

/// "The value is 7": what stands after the only "is" or 是 of the sentence.
fn behind_copula(response: &str, span: Range<usize>) -> Range<usize> {
    let text = &response[span.clone()];
    // "(B) The sum is even": the letter belongs to the answer.
    if matches!(text.as_bytes(), [b'(', b'A'..=b'J', b')', ..]) {
        return span;
    }
    for copula in [" is ", " are ", "是"] {
        if let Some(at) = text.find(copula)
            && text.rfind(copula) == Some(at)
            && text[..at].chars().any(char::is_alphabetic)
            && !text[..at].contains(['=', '\\'])
        {
            return span.start + at + copula.len()..span.end;
        }
    }
    span
}

/// The inside of the formula that starts here.
fn formula_at(response: &str, start: usize) -> Option<Range<usize>> {
    for (open, close) in [("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]"), ("$", "$")] {
        if response[start..].starts_with(open) {
            let from = start + open.len();
            let length = response[from..].find(close)?;
            return Some(from..joined_end(response, from + length, open, close));
        }
    }
    None
}

/// Where the last of the formulas ends that "and", "or" and commas join to the one that ends here.
fn joined_end(response: &str, end: usize, open: &str, close: &str) -> usize {
    const MOST: usize = 16;
    let mut end = end;
    for _ in 0..MOST {
        let after = response[end + close.len()..].trim_start_matches([' ', ',']);
        let separated = after.len() + close.len() < response.len() - end;
        let word = ["and ", "or "].iter().find_map(|word| after.strip_prefix(word));
        let next = word.unwrap_or(after).trim_start();
        let comma = response[end + close.len()..].trim_start().starts_with(',');
        let Some(inner) =
            next.strip_prefix(open).filter(|_| separated && (word.is_some() || comma))
        else {
            break;
        };
        let Some(length) = inner.find(close) else { break };
        end = response.len() - inner.len() + length;
    }
    end
}

fn sentence_end(response: &str, line: Range<usize>) -> usize {
    let text = &response[line.clone()];
    let mut end = text.len();
    for stop in
        [". ", "**", ", because", ", since", " because ", " since ", ", so ", ", which ", ", as "]
    {
        if let Some(at) = text[..end].find(stop) {
            end = at;
        }
    }
    line.start + end
}
