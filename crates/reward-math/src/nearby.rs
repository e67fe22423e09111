//! Other readings of an extracted answer, by what stands around it in the response.

use crate::answer::Answer;
use crate::extract::{Extracted, Rule, by_parts, last_formula, letter_behind};
use crate::restated::holds_operation;
use crate::table::{captured, pattern, tail};
use crate::words;

/// Longest sentence of which the only number is taken, in bytes.
pub(crate) const LONGEST_SENTENCE: usize = 2048;

/// Returns a boxed answer with what stands behind the box of its parameter or letter: `\boxed{x = 2k\pi}, k \in \mathbb{Z}`,
/// `\boxed{r^2}, where r = 3 + \sqrt2`.
pub(crate) fn with_domain(response: &str, extracted: &Extracted) -> Option<String> {
    let behind = (extracted.rule == Rule::Box).then(|| &response[extracted.span.end..])?;
    let domain = pattern!(
        r"(?x)^[}\s$,;.)\]\\]*(?:\\quad)?[\s$(\\]*(where|for|with|\\text\{[a-z\x20]*\})?[\s$(\\]*(?:([a-zA-Z])\s*(\\in)\s*(\\mathbb\s*\{?[ZNRC]\}?(?:[_^](?:\{[^{}]*\}|[+*0]))?)|([a-zA-Z]|\\?(?:alpha|beta|theta|phi|varphi|omega|lambda))\s*(=)\s*([^$=\n]*?[^$=\s.,;)\\])[.,;]?\s*(?:\$|\\\)|\\\]|\n|$))"
    );
    let text = &extracted.text;
    let parts = domain.captures(behind)?;
    let part = |place| parts.get(place).or(parts.get(place + 3)).map(|part| part.as_str());
    let (name, sign, value) = (part(2)?, part(3)?, part(4)?);
    // `\boxed{x + 1}, y = 2` has two values, `\boxed{L}, L = \lim_{x \to 0} f(x)` none.
    let fits = match sign {
        _ if holds_operation(value) => false,
        "=" => parts.get(1).is_some() && !text.contains(['=', ',', '<', '>']),
        _ => !text.contains("\\in"),
    };
    (fits && text.contains(name)).then(|| format!("{text}, {name} {sign} {value}"))
}

/// Returns a boxed answer with the value of a letter that stands before the box: "With $\varphi = \frac{1 + \sqrt5}{2}$ …".
pub(crate) fn with_definition(response: &str, extracted: &Extracted) -> Option<String> {
    let definition = pattern!(
        r"(?i:\b(?:with|where|let|put|set|denote|writing)\b)[^$.\n]{0,24}\$(\\[a-zA-Z]+)\s*=\s*([^$=]*[^$=\s,])\$"
    );
    let near = tail(&response[..extracted.span.start], LONGEST_SENTENCE);
    let defined = definition.captures_iter(near).filter(|parts| {
        let (name, value) = (&parts[1], &parts[2]);
        extracted.text.contains(name) && !extracted.text.contains('=') && !holds_operation(value)
    });
    let defined = defined.last().filter(|_| extracted.rule == Rule::Box)?;
    Some(format!("{}, {} = {}", extracted.text, &defined[1], &defined[2]))
}

/// Returns true if the words around an answer make another of it: "the odds are $3:11$" is no $3/11$, "the primes of the form
/// $2^k - 1$" are not all of these numbers, and "20 N, directed to the east" is not "20 N to the west".
pub(crate) fn means_another(response: &str, extracted: &Extracted, gold: &Answer) -> bool {
    let (before, behind) =
        (tail(&response[..extracted.span.start], 160), &response[extracted.span.end..]);
    let ratio = pattern!(r":|\bto\b").is_match(&extracted.text);
    let odds = pattern!(r"\b[Oo]dds\b[^.\n]*$").is_match(before);
    let primes = pattern!(r"\bprimes?(?: numbers?)? of the form[\s$\\({]*$").is_match(before);
    let directed = pattern!(r"^[}\s$]*,? ?(?:(?:‹before a direction›) )+(‹direction of motion›)");
    let directions = words::directions(gold.words.as_deref().unwrap_or_default());
    let turned = captured(directed, behind).is_some_and(|direction| {
        !directions.is_empty() && !directions.contains(direction.as_str())
    });
    let once = pattern!(
        r"^[}\s$,]*for (?:exactly|only) one\b|^[}\s$,.]*where \$?(?:[eij]|\\pi)\$? (?:denotes|stands for)\b"
    );
    once.is_match(behind)
        || ratio && odds && !gold.spelling.contains(':')
        || primes && !gold.spelling.contains("prime")
        || turned
}

/// Returns true if words that the question does not hold turn a value round: "a loss of $4$", "does **not** rain is $0.3$".
pub(crate) fn is_turned_round(response: &str, extracted: &Extracted, question: &str) -> bool {
    let turns = pattern!(
        r"(?i)\b(loss|deficit|debt) of [\s\\$]*$|\b(decreas|declin|dropp|fall)ing at (?:a|the) rate of [\s\\$]*$|\b(not)\b[* ]+[a-z]+ is [\s\\$]*$"
    );
    let turn = captured(turns, tail(&response[..extracted.span.start], 80));
    turn.is_some_and(|word| !question.to_lowercase().contains(&word.as_str().to_lowercase()))
}

/// Returns true if an answer is one of several that a response gives: "**3** and **5**", or items of a list with one label.
pub(crate) fn is_one_of_several(response: &str, extracted: &Extracted) -> bool {
    let before = &response[..extracted.span.start];
    let bold = pattern!(r"\*\*([^*\n]+)\*\*,? ?(?:and|or|et|ou|und|oder|y|e|и|或|和)? ?\*\*\$?$");
    let name = |text: &str| {
        captured(pattern!(r"^\$?([a-zA-Z]) ?="), text).map(|name| name.as_str().to_owned())
    };
    let first = captured(bold, tail(before, 160)).filter(|_| extracted.rule == Rule::Bold);
    // "**a = 6** and **b = −9**" are one answer.
    if first.is_some_and(|first| name(first.as_str()) == name(&extracted.text)) {
        return true;
    }
    // "Case 1", "First solution"
    let named = pattern!(r"(?m)^\W*(?:Case [1-8]\b|First (?:solution|root|value|answer)\b)");
    let cases =
        (extracted.rule == Rule::Box && named.is_match(response)).then(|| by_parts(response));
    let cases = cases.flatten().filter(|all| !all.starts_with('('));
    if cases.is_some_and(|all| all.split(", ").any(|value| value != extracted.text)) {
        return true;
    }
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let end = response[extracted.span.end..]
        .find('\n')
        .map_or(response.len(), |at| extracted.span.end + at);
    let label =
        pattern!(r"^\s*[-*•]\s+\$?((?:\([a-z](?:, ?[a-z])+\)|[a-z])(?:_\{?[0-9]\}?)? ?=)(.*)$");
    let labelled = |text: &str| {
        let parts = label.captures(text)?;
        let name = pattern!(r"_\{?[0-9]\}?").replace(&parts[1], "");
        Some((name.into_owned(), parts[2].to_owned()))
    };
    let labelled_line = labelled(&response[line..end]);
    let beside = [
        response[..line].trim_end().rsplit('\n').next(),
        response[end..].trim_start().lines().next(),
    ];
    labelled_line.is_some_and(|(name, value)| {
        let others = beside.into_iter().flatten().filter_map(labelled);
        others.into_iter().any(|(other, another)| other == name && another != value)
    })
}

/// Returns the text before a second form of the answer in brackets: "15:45 (3:45 PM)", "one half (½) of the pizza".
pub(crate) fn without_remark(extracted: &Extracted) -> Option<String> {
    let remark = pattern!(r"^([^()$\\]*[^()$\\\s])\s+\(([^()]*)\)(?: of [a-z ]+)?$")
        .captures(&extracted.text)?;
    let inside = remark[2].to_lowercase();
    let other =
        pattern!(r"^(?:or|and|mod|not|rejected|twice|double|multiplicity)\b").is_match(&inside);
    (!other && !words::takes_back(&inside) && extracted.rule != Rule::Box)
        .then(|| remark[1].to_owned())
}

/// Returns the decimal of "√2 km, approximately 1.41 km".
pub(crate) fn rounded(response: &str, extracted: &Extracted) -> Option<String> {
    let decimal = pattern!(r"^[^0-9\n]{0,24}(?:‹approximates›|\\approx) ?\$?([0-9]+\.[0-9]+)");
    let unmarked = matches!(extracted.rule, Rule::LastNumber | Rule::LastSentence);
    let decimal = captured(decimal, &response[extracted.span.end..]).filter(|_| unmarked)?;
    Some(decimal.as_str().to_owned())
}

/// Returns the value before its other spelling: "4.5 litres, i.e. 4500 ml", "85¢, which can be written as $0.85".
pub(crate) fn first_spelling(response: &str, extracted: &Extracted) -> Option<String> {
    let first = pattern!(
        r"([0-9][0-9.,/]*)[^0-9.\n²³^√)=≤≥<>π]{0,24}, (?:i\.e\.,?|that is,?|which is|which can be written as|in other words,?|equivalently,?) [^0-9\n]{0,3}$"
    );
    let near = tail(&response[..extracted.span.start], 80);
    let first = captured(first, near).filter(|_| extracted.rule == Rule::LastNumber)?;
    let part = pattern!(r"(?:[≤≥<>√^_{(-]|\b(?:base|mod|modulo|than|least|most|by|of))\s*$");
    (!part.is_match(&near[..first.start()])).then(|| first.as_str().to_owned())
}

/// Returns the formulas that end a sentence: "the solutions are the two functions $f(x) = x$ and $f(x) = 2 - x$."
pub(crate) fn closing_formula(extracted: &Extracted) -> Option<String> {
    let text = &extracted.text;
    let in_words =
        matches!(extracted.rule, Rule::Phrase | Rule::Bold) && text.len() <= LONGEST_SENTENCE;
    let formula = in_words.then(|| last_formula(text)).flatten()?;
    let before = text[..formula.start].trim_end_matches(['$', '\\', '(']);
    let plain = !before.contains(['$', '=', '\\']) && !words::takes_back(&before.to_lowercase());
    let plain = plain && !words::makes_another(before);
    plain.then(|| text[formula].to_owned())
}

/// Returns the value of "Midpoint: (−1, 6)", a bold line.
pub(crate) fn behind_colon(extracted: &Extracted) -> Option<String> {
    let labelled = pattern!(r"^\p{Alphabetic}[\p{Alphabetic} ]+:\s*([^:]*)$");
    // `\text{Due date: April 29}`, `\text{Empirical formula: } \mathrm{CH_2O}`
    let boxed = pattern!(r"^\\text\{[A-Z][a-z ]{2,30}: ?(?:([^{}:]+)\}|\}\s*(\S.*))$");
    let (labelled, marked) = match extracted.rule {
        Rule::Bold => (labelled, true),
        rule => (boxed, rule == Rule::Box),
    };
    let value = marked.then(|| captured(labelled, &extracted.text))??;
    (!words::takes_back(&extracted.text.to_lowercase())).then(|| value.as_str().to_owned())
}

/// Returns D of "which is choice (D)" behind a box, of "That matches option (D)." at the end, and of "D (12)".
pub(crate) fn letter(response: &str, extracted: &Extracted) -> Option<String> {
    const STOPS: [char; 5] = ['.', '!', '?', '。', '\n'];
    let boxed = &extracted.text;
    if let Some((letter, _)) = words::letter_and_text(boxed) {
        return Some(letter.to_owned());
    }
    let last = response.trim_end();
    // "41. (D)", "… four times the old one. ✔ (D)", `\quad\Longrightarrow\quad \textbf{(B)}`
    let closing = pattern!(r"(?:^|[\s$}*])(?:\\text(?:bf)?\{)?\(([A-J])\)\}?[\s$.*]*$");
    let near = tail(last, 32);
    let unmarked = matches!(extracted.rule, Rule::LastNumber | Rule::LastSentence | Rule::Whole);
    let other = pattern!(r"(?:\b(?:not|or|and|nor)|,) *\**\([A-J]\)[\s$.*}]*$");
    let closes = unmarked && !other.is_match(near);
    if let Some(letter) = captured(closing, near).filter(|_| closes) {
        return Some(letter.as_str().to_owned());
    }
    let inside = letter_behind(boxed).filter(|_| !words::takes_back(&boxed.to_lowercase()));
    let place = match extracted.rule {
        Rule::Box if inside.is_some() => extracted.span.start,
        // "\boxed{A}. Option C is wrong."
        Rule::Box if pattern!(r"^\(?[A-J]\)?$").is_match(boxed) => return None,
        Rule::Box => {
            // "The answer is (A) $\boxed{4\pi}$."
            let before =
                pattern!(r"(?i:answer|choice|option)(?: is)?:? \(?([A-J])\)?[}\s$]*\\boxed\{$");
            let near = response[..extracted.span.start].char_indices().rev().nth(48);
            let near = near.map_or(0, |(at, _)| at);
            // "$\boxed{6\pi}$ (C) $\mathrm{cm}$"
            let beside = pattern!(r"^[}\s$]*\(([A-J])\)(?:[.,; $]|$)");
            if let Some(letter) = captured(before, &response[near..extracted.span.start])
                .or_else(|| captured(beside, &response[extracted.span.end..]))
            {
                return Some(letter.as_str().to_owned());
            }
            extracted.span.end
        }
        Rule::LastNumber => {
            // "(D)" in the first line, and an explanation.
            let opening = pattern!(
                r"^\s*\**(?:(?:[Ll]etra|[Oo]pci[oó]n|[Oo]ption|[Cc]hoice|[Aa]nswer:?) )?\(?([A-J])(?:\)?[.:]?\**\s*|[).] [^\n]{1,60})\n"
            );
            if let Some(letter) = captured(opening, response) {
                return Some(letter.as_str().to_owned());
            }
            last.rfind(STOPS).map_or(0, |stop| {
                let ends = last[stop..].chars().nth(1).is_none();
                last[..stop].rfind(STOPS).filter(|_| ends).unwrap_or(stop)
            })
        }
        _ => return None,
    };
    letter_behind(&response[place..]).map(str::to_owned)
}
