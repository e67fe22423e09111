//! Phrases that announce an answer: "the answer is", "Answer:", "the correct option is", 答案是.

use std::ops::Range;

use regex::Match;

use super::extracted::some_text;
use crate::answer::Answer;
use crate::table::{captured, pattern, phrases, starts_with_ignoring_case, tail};
use crate::words;

/// Returns the letter of the choice that the text calls right: "option B is correct", "(B) is the answer".
pub(super) fn letter_said_right(response: &str) -> Option<Range<usize>> {
    let claims = phrases("calls a choice right").iter();
    // "A is the answer that a quick reading suggests."
    let says = |claim: &&str| {
        let place = response.rfind(*claim)?;
        let behind = &response[place + claim.len()..];
        (!behind.starts_with(" that") && !behind.starts_with(" which")).then_some(place)
    };
    let claim_start = claims.filter_map(says).max()?;
    let before = response[..claim_start].trim_end_matches([')', '*', '$', '}', ' ']);
    let letter = before.chars().next_back().filter(|c| ('A'..='J').contains(c))?;
    let start = before.len() - letter.len_utf8();
    let apart =
        before[..start].chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-');
    apart.then_some(start..before.len())
}

/// Returns the letter of "… la réponse **E**." at the end of a text.
pub(super) fn letter_at_the_end(response: &str) -> Option<Range<usize>> {
    let tail = response.ceil_char_boundary(response.len().saturating_sub(48));
    let named = pattern!(
        r"(?i:\b(?:option|choice|réponse|respuesta|antwort|opción|resposta|alternativa|alternative)|вариант|选项)\s*\**\(?([A-J])\)?\**\s*[.!。]?\s*$"
    );
    let parts = named.captures(&response[tail..])?;
    let letter = parts.get(1)?;
    // "The answer is 12, which is option B": the value is the answer.
    let before = response[tail..][..parts.get(0)?.start()].trim_end();
    let beside = ["(", "which is", "corresponds to", "matches"];
    let beside = beside.iter().any(|words| before.ends_with(words));
    (!beside).then(|| tail + letter.start()..tail + letter.end())
}

/// Returns the letter of "…, which is choice (D)" behind a box.
pub(crate) fn letter_behind(behind: &str) -> Option<&str> {
    let named = pattern!(
        r"(?:(?i:\b(?:option|choice|answer|choose|pick|select|graph|diagram|figure)(?: is| should be| must be)?) |[选項项] ?)\**\(?([A-J])\)?\**(?:[.,; $}。，]|正确|$)"
    );
    let mut letters = named.captures_iter(behind).map(|named| named.extract::<1>().1[0]);
    let only = letters.next()?;
    letters.all(|letter| letter == only).then_some(only)
}

/// Returns the answer that a text behind a box announces in its place: "Hold on, … it should be 63", "Final answer: 18".
///
/// Words count behind "final answer" alone: "the answer is in simplest form" names none.
pub(super) fn correction(behind: &str, several: bool) -> Option<Range<usize>> {
    let announced = || {
        let place = last_phrase(behind)?;
        let text = &behind[place.clone()];
        // A letter is the answer of a choice alone, which looks for it behind a box.
        let letter = text.trim_matches(['(', ')', '*', '.']).len() == 1
            && text.contains(|c: char| c.is_ascii_uppercase());
        let is_value = Answer::parse(text).is_ok_and(|answer| !answer.is_words()) && !letter;
        let line = behind[..place.start].rfind('\n').map_or(0, |end| end + 1);
        let is_final = pattern!(r"(?i)final answer[:*\s]*$").is_match(&behind[line..place.start]);
        // "see above"
        Some(place).filter(|_| (is_value || is_final && !letter) && !text.starts_with("see "))
    };
    // Behind several boxes: "so the only extremum is at $x=3$".
    let only = || {
        let only = pattern!(r"\bthe only [a-z ]{0,30}(?:is|are)(?: at)? (\S[^.\n;]*)");
        let value = captured(only, behind).filter(|_| several)?;
        content(behind, value.start())
    };
    // "…, but the problem wants the difference, hence $\frac16$ is the right answer."
    let right = || {
        let named = pattern!(
            r"(\$[^$]+\$|-?[0-9./]+) is the (?:right|correct|actual|true) (?:answer|value|result)\b"
        );
        content(behind, captured(named, behind)?.start())
    };
    corrected(behind).or_else(announced).or_else(only).or_else(right)
}

/// Returns the value behind words that take an answer back: "Hold on, … it should be 63".
pub(super) fn corrected(behind: &str) -> Option<Range<usize>> {
    let takes_back = pattern!(
        r"(?i)(?-u:\b)(?:hold on|wait|oops|hmm|correction|actually|mistake|misread|scra(?:tch|p) that|(?:that|this|which)(?: is|'s| was) (?:wrong|incorrect)|so \$?-?[0-9.]+\$? is (?:wrong|incorrect)|i (?:forgot|missed|overlooked|miscounted|revise)|edit|off by [a-z]+|korrektur|corrección|halt, das)(?-u:\b)"
    );
    let should_be = pattern!(
        r"(?i)(?-u:\b)(?:(?:so|thus|hence|therefore),? the [a-z]+[^.\n$]{0,40}? is|the [a-z]+ (?:has to be|must be)|revise my answer to|should (?:be(?: replaced by| amended to| corrected to)?|read)|so it(?:'s| is)|(?:so|and) it must be|lautet|(?:right|correct|actual|true) (?:\w+ )?is(?: therefore| thus| actually| really)?|richtige antwort(?: ist)?|giving)[: *]+(\S[^.\n,;]*?)(?: as the answer)?(?:[.\n,;]|$)"
    );
    let mark = takes_back.find(behind)?;
    // "The sum is $6$, not $12$."
    let instead = pattern!(
        r"(?i)\b(?:is (\$[^$]+\$|-?[0-9.]+), (?:and )?not \$?[-0-9]|read (\$[^$]+\$|-?[0-9.]+) instead)"
    );
    if let Some(value) = captured(instead, &behind[mark.start()..]) {
        return content(behind, mark.start() + value.start());
    }
    let value = should_be.captures_iter(&behind[mark.end()..]).last()?.get(1)?;
    content(behind, mark.end() + value.start())
}

/// Returns the end of the sentence that withdraws an answer.
pub(super) fn withdrawal(behind: &str) -> Option<usize> {
    let withdrawn = pattern!(r"(?i)(?-u:\b)(?:‹withdraws an answer›)(?-u:\b)[^.\n]*[.\n]");
    Some(withdrawn.find_iter(behind).last()?.end())
}

/// Most bytes before an answer that may disclaim it.
const LONGEST_SENTENCE: usize = 512;

/// Returns false for an answer that is withdrawn, or holds in one of several cases: "if they differ, 49".
pub(super) fn stands(response: &str, span: &Range<usize>) -> bool {
    let withdrawn = pattern!(
        r"(?i)(?-u:\b)(?:‹withdraws an answer›)(?-u:\b)|(?-u:\b)(?:wait|hmm|hold on|on second thought|on reflection)(?-u:\b)[^\n]*(?-u:\b)(?:(?:this|that|it) (?:is|must be) (?:wrong|incorrect)|(?:this|that|it) can(?:not|['’]t) be right|recount|start (?:again|over))(?-u:\b)"
    );
    let (before, behind) = (&response[..span.start], &response[span.end..]);
    let sentence = pattern!(r"[.!?](?:\s|$)|\n");
    let near = tail(before, LONGEST_SENTENCE);
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    // A long line is not searched from its start.
    let ends = |(at, _): &(usize, &str)| {
        let rest = &before[line + at + 1..];
        rest.is_empty() || rest.starts_with(char::is_whitespace)
    };
    let mark = before[line..].rmatch_indices(['.', '!', '?']).find(ends);
    let start = mark.map_or(line, |(at, _)| line + at + 1);
    let end = sentence.find(behind).map_or(behind.len(), |end| end.start());
    let cases = pattern!(
        r"(?i)\b(?:if|provided|assuming)\b.*(?:; (?:if|otherwise)|, otherwise it| and .* if .*\bnot|, and .* otherwise)\b"
    );
    // "If the order matters, the answer is 120. If it does not matter, it is 20."
    let two =
        pattern!(r"(?i)(?:^|[.\n])\s*if [^.]{0,160}[0-9][^.]*\. if [^.]*(?:\bnot\b|n't\b)[^.]*$");
    // "If it is larger, the answer is A. If not, the answer is B."
    let two_answers = pattern!(r"(?i)(?:^|[.\n])\s*if [^.\n]* answer is [^.\n]*\.\s*if [^.\n]*$");
    let first = pattern!(r"(?i)(?:^|[.\n])\s*if [^.\n]*$");
    let second = pattern!(r"(?i)^[^.\n]*\.\s*if [^.\n]*(?:\bit is\b|answer is\b)");
    let readings = pattern!(r"(?im)^\W*(?:interpretation|reading) [0-9A-C]\b");
    let one_of_several = cases.is_match(&format!("{}_{}", &before[start..], &behind[..end]))
        && !pattern!(r"\b(?:if|otherwise|even|odd)\b").is_match(&response[span.clone()])
        || pattern!(r"(?i)\bwhen\b[^.]*$").is_match(near)
            && pattern!(r"^[^.\n]*,? and when\b").is_match(behind)
        || two.is_match(tail(&before[line..], 2 * LONGEST_SENTENCE))
        || two_answers.is_match(near)
        || first.is_match(near) && second.is_match(behind)
        || readings.is_match(&before[line..]) && readings.find_iter(before).count() > 1;
    // "\boxed{… = 10}. Therefore the number of handshakes is 20."
    let other = pattern!(
        r"(?:^|[.\n]\s*)(?:Therefore|Thus|Hence|So),? the (?:number|total|answer|value)[^.\n]* is \$?(-?[0-9]+)\$?[.\s]*$"
    );
    let value = pattern!(r"= ?(-?[0-9]+)$").captures(&response[span.clone()]);
    let contradicts =
        value.zip(other.captures(behind)).is_some_and(|(value, other)| value[1] != other[1]);
    let disclaimed = is_disclaimed(near, &response[span.clone()], behind);
    !one_of_several && !contradicts && !disclaimed && !withdrawn.is_match(behind)
}

/// Returns the answer after the last phrase that announces one.
pub(super) fn last_phrase(response: &str) -> Option<Range<usize>> {
    let places: Vec<Match<'_>> =
        pattern!("(?i:‹announces an answer›)").find_iter(response).collect();
    places.into_iter().rev().find_map(|place| {
        let (start, after, anchor) = (place.start(), place.end(), place.as_str().to_lowercase());
        // "### Answer": a heading.
        let ends_line = response[after..].trim_start_matches([' ', '*', ':']).starts_with('\n');
        let before = &response[response.ceil_char_boundary(start.saturating_sub(32))..start];
        let heading = ends_line
            && pattern!(r"(?:^|\n)\s*(?:#+|\*\*)[ *]*(?i:final |the )*$").is_match(before);
        let announced = if heading { 0 } else { announcement(&response[after..], &anchor)? };
        // "So the answer is correct.", "We check our answer: …"
        let same = pattern!(r"^ *the same as [^:.\n]*: ").find(&response[after + announced..]);
        let announced = announced + same.map_or(0, |same| same.len());
        let value = response[after + announced..].trim_start();
        if phrases("says nothing").iter().any(|words| starts_with_ignoring_case(value, words))
            || pattern!(r"(?:check|verify) (?:the|our|my|this) $").is_match(before)
        {
            return None;
        }
        content(response, after + announced)
    })
}

/// Returns the length of the announcement after the anchor, `None` if it is none.
fn announcement(rest: &str, anchor: &str) -> Option<usize> {
    const EMPHASIS: [char; 4] = ['*', ' ', '_', '"'];
    let mut text = rest.trim_start_matches(EMPHASIS);
    for filler in phrases("behind an announcement") {
        if starts_with_ignoring_case(text, filler) {
            text = text[filler.len()..].trim_start_matches(EMPHASIS);
        }
    }
    // "the answer (in metres) is 5"
    let aside = pattern!(r"^\([a-z' ]{1,40}\)").find(text).map_or(0, |aside| aside.end());
    text = text[aside..].trim_start_matches(EMPHASIS);
    // "the answer is not 5 but 6"
    if let Some(instead) = pattern!(r"^is not [^.,;\n]{1,24},? but ").find(text) {
        return Some(rest.len() - text.len() + instead.end());
    }
    let chinese = matches!(anchor, "故选" | "应选" | "选项");
    if phrases("announces a letter").contains(&anchor) {
        let skipped = rest.len() - rest.trim_start_matches([':', '：', ' ', '(', '（', '*']).len();
        return rest[skipped..].starts_with(|c: char| ('A'..='J').contains(&c)).then_some(skipped);
    }
    // "**Answer.** There are 12."
    if let Some(behind) = rest.strip_prefix(".**").filter(|_| anchor == "answer") {
        return Some(rest.len() - behind.len());
    }
    let marks = phrases("introduces an answer").iter();
    let mark = marks.copied().find(|mark| starts_with_ignoring_case(text, mark))?;
    // "result = 5 + 3" is a step; "option: " and "choice: " quote the question.
    if matches!(anchor, "option" | "choice" | "result") && !mark.starts_with("is")
        || chinese && !matches!(mark, "是" | "为" | ":" | "：")
    {
        return None;
    }
    let behind = &text[mark.len()..];
    let word = mark == "is" && behind.starts_with(char::is_alphanumeric);
    (!word).then_some(rest.len() - behind.len())
}

/// Returns the answer after a phrase: a formula, a letter of a choice, or text up to the end of the sentence.
fn content(response: &str, start: usize) -> Option<Range<usize>> {
    let rest = &response[start..];
    let skipped =
        rest.find(|c: char| !c.is_whitespace() && !matches!(c, '*' | ':' | '：' | '"' | '_'))?;
    // "Final answer: the train covers **150 km**"
    let bold = pattern!(r"^(?:[^*$\\=0-9\n]|\$[a-zA-Z]\$)+\*\*([^*\n:]+)\*\*[^*\n]*(?:\n|$)");
    let bold = captured(bold, &rest[skipped..]);
    if let Some(bold) = bold.filter(|bold| !words::makes_another(&rest[..skipped + bold.start()])) {
        let start = start + skipped;
        return some_text(response, start + bold.start()..start + bold.end());
    }
    // "The answer is therefore **(D)**"
    let adverb = pattern!(
        r"^(?:(?i:therefore|thus|then|hence|so|clearly|simply|indeed|donc)[ ,:]+\**|选[ *]*)"
    )
    .find(&rest[skipped..]);
    let skipped = skipped + adverb.map_or(0, |adverb| adverb.len());
    // A block of code.
    let fence = pattern!(r"^```[a-z]*\s*\n").find(&rest[skipped..]);
    let skipped = skipped + fence.map_or(0, |fence| fence.len());
    let start = start + skipped;
    if let Some(formula) = formula_at(response, start) {
        // "$PQ = 3$, so $PQ^2 = 9$"
        let behind = pattern!(r"^\$, (?:and )?(?:so|hence|thus|therefore) \$")
            .find(&response[formula.end..]);
        let last = behind.and_then(|sign| formula_at(response, formula.end + sign.end() - 1));
        return some_text(response, last.unwrap_or(formula));
    }
    let line = response[start..].find('\n').map_or(response.len(), |length| start + length);
    let end = sentence_end(response, start..line);
    let word = pattern!("^(?i:option|choice) [A-E(]").find(&response[start..end]);
    let start = start + word.map_or(0, |word| word.len() - 1);
    // "D, it doesn't make sense", 故选B，因为…: a letter before a remark.
    let text = &response[start..end];
    // "A researcher" begins with an article.
    let remark = pattern!(r"^(?:[A-J](?:[。，．）（]|,\s*[a-z]{2})|[B-J]\s[a-z]{2}|A (?:because|since|as|is|for|and|or)\b)").is_match(text);
    let listed = pattern!(r"^.[, ]\s*(?:and|or) ").is_match(text);
    // "The answer is _____."
    let blank = text.trim_end() == "." && response[..start].ends_with('_');
    let end = if remark && !listed { start + 1 } else { end };
    some_text(response, start..end).filter(|_| !blank)
}

/// Returns the first place of a mark of formulas; `\$` is money.
fn first_mark(text: &str, mark: &str) -> Option<usize> {
    text.match_indices(mark).map(|(at, _)| at).find(|at| is_mark(text, *at))
}

/// Returns the last place of a mark of formulas.
pub(super) fn last_mark(text: &str, mark: &str) -> Option<usize> {
    text.rmatch_indices(mark).map(|(at, _)| at).find(|at| is_mark(text, *at))
}

fn is_mark(text: &str, at: usize) -> bool {
    !text[at..].starts_with('$') || !text[..at].ends_with('\\')
}

/// Returns the content of the formula at `start`.
fn formula_at(response: &str, start: usize) -> Option<Range<usize>> {
    for (open, close) in [("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]"), ("$", "$")] {
        if response[start..].starts_with(open) {
            let from = start + open.len();
            let length = first_mark(&response[from..], close)?;
            // "$75" and, in a later line, "$12.50"; "$45 - $7 = $38".
            let text = &response[from..from + length];
            let sum = pattern!(r"^[0-9][0-9.,]*[^$]*[-+*/=×x:]\s*$").is_match(text);
            if open == "$" && (text.contains('\n') || sum) {
                return None;
            }
            return Some(from..joined_end(response, from + length, open, close));
        }
    }
    None
}

/// Returns the end of the last formula joined by "and", "or" and commas to the one that ends at `end`.
fn joined_end(response: &str, end: usize, open: &str, close: &str) -> usize {
    const MOST: usize = 16;
    let mut end = end;
    for _ in 0..MOST {
        // "$f(x) = 0$ for all $x$, and $f(x) = x$"
        let all = pattern!(r"^ for (?:all|every|any) (?:real )?\$[a-z]\$");
        let behind = all.find(&response[end + close.len()..]).map_or(0, |all| all.end());
        if behind > 0 && response[end + close.len() + behind..].starts_with([',', ' ']) {
            end += behind;
        }
        let after = response[end + close.len()..].trim_start_matches([' ', ',']);
        let separated = after.len() + close.len() < response.len() - end;
        let word = [
            "and also ",
            "as well as ",
            "and ",
            "or ",
            "y ",
            "und ",
            "oder ",
            "et ",
            "ou ",
            "或",
            "和",
        ]
        .iter()
        .find_map(|word| after.strip_prefix(word));
        let next = word.unwrap_or(after).trim_start();
        let comma = response[end + close.len()..].trim_start().starts_with(',');
        let Some(inner) =
            next.strip_prefix(open).filter(|_| separated && (word.is_some() || comma))
        else {
            break;
        };
        let Some(length) = first_mark(inner, close) else { break };
        end = response.len() - inner.len() + length;
    }
    end
}

fn sentence_end(response: &str, line: Range<usize>) -> usize {
    let text = &response[line.clone()];
    let mut end = text.len();
    for stop in phrases("ends an answer") {
        // `x**2` is a power.
        let power = |at: usize| {
            *stop == "**"
                && text[at + 2..].starts_with(|c: char| c.is_alphanumeric() || c == '(')
                && text[..at].ends_with(|c: char| c.is_alphanumeric() || c == ')')
        };
        let abbreviates = |at: usize| {
            *stop == ". " && pattern!(r"\b(?:i\.e|e\.g|Rs|approx|sq|cu|vs)$").is_match(&text[..at])
        };
        let stops = |at: usize| !power(at) && !abbreviates(at);
        if let Some((at, _)) = text[..end].match_indices(stop).find(|(at, _)| stops(*at)) {
            end = at;
        }
    }
    line.start + end
}

/// Returns true for "Suppose the answer is 5", and for what is called wrong or restated: "5 is the wrong answer", "Wait, it is 6".
fn is_disclaimed(before: &str, value: &str, behind: &str) -> bool {
    let supposed = pattern!(
        r"(?i)\b(?:(?:twice|thrice|double|half of)[\s$]*\\f?box(?:ed)?\{$|(?:suppose|assume|assuming|imagine|whether|doubt|false|mistakenly [a-z]+)(?: that)? (?:the|our|my|this) (?:final |correct |right )?answer (?:is|was|were)[\s:*$\\(]*(?:\\f?box(?:ed)?\{)?$)"
    );
    let denied = pattern!(concat!(
        r"(?i)^[}\s*)$]*(?:is|was) (?:only |just )?(?:my|our) (?:first |initial )?(?:guess|conjecture|attempt|draft)\b|",
        r"^[\s*)$]*(?:,? ?(?:which|that) )?(?:-(?:digits?|gons?|sided)\b|(?:(?:is|was) (?:an? |the )?(?:wrong|false|incorrect|impossible|excluded|rejected|extraneous|trap|too (?:big|small|large|low|high)|not (?:the (?:right |correct )?answer|right|correct))|fails|does(?:n['’]t| not) work|unless|works[:;,] it does not)\b|(?:plus|minus|times|multiplied by|divided by) (?:\$?[0-9\\]|(?:one|two|three)\b)|(?:squared|cubed)\s*(?:[.,;!]|$))"
    ));
    // "Is it 5?"
    let asked = pattern!(
        r"(?i)(?:^|[.!?\n]\s*)(?:is|are|was|could|would|does|what if|can|might)\b[^.!?\n]*$"
    );
    let asked = asked.is_match(before)
        && pattern!(r"(?i)^[}\s*)$]*(?:[a-z]+ ?){0,3}\?\s*(?:$|[^y\s]|y[^e])").is_match(behind);
    let restated = pattern!(
        r"(?i)(?-u:\b)(?:wait|hmm|hold on|oops|edit|sorry)(?-u:\b)[^\n]*?(?-u:\b)(?:it|this|that)(?: is|['’]s| should be| must be| equals) (-?[0-9][0-9./]*|\$(?:[^$\\\n]|\\.)+\$)(?:[.!;]\s|[.!;]?\s*$)"
    );
    let other = captured(restated, behind).map(|other| other.as_str().trim_matches(['$', '.']));
    // `\frac12` may be 0.5.
    let is_number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"-.,".contains(&byte));
    // "a 5-digit number"
    let kind = pattern!(r"^an? [0-9]+-[a-z]+ number");
    supposed.is_match(before)
        || kind.is_match(value)
        || asked
        || denied.is_match(behind)
        || other.is_some_and(|other| other != value && is_number(other) == is_number(value))
}
