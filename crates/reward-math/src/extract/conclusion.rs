//! The end of what a text concludes: before the remarks, reasons and comparisons behind its last value.

use std::cmp::Reverse;
use std::ops::Range;

use regex::Match;

use crate::table::{captured, lists, pattern, phrases, single};
use crate::words;

/// Most sentences at the end that may be remarks.
const MOST_REMARKS: usize = 4;
/// Most words of a number in words.
const LONGEST_NUMBER: usize = 8;
/// Length of the end of a text in which its last sentence begins, in bytes.
const TAIL: usize = 1024;

/// Returns the end of the main clause of the last sentence that is no remark.
pub(super) fn end(response: &str) -> usize {
    let mut end = response.trim_end().len();
    for _ in 0..MOST_REMARKS {
        // "Remark. In the short run, the cost is 2.", behind the answer
        let concludes = pattern!(r"(?i)[.,]\s+(?:so|thus|hence|therefore)\b[^.]*[0-9$]");
        let paragraph = response[..end].rfind("\n\n").map(|at| at + 2).filter(|start| {
            let text = &response[*start..end];
            is_remark(text) && !concludes.is_match(text)
        });
        let start = paragraph.unwrap_or_else(|| sentence(&response[..end]));
        if !is_remark(&response[start..end]) && !is_aside(&response[..end], start) {
            return start + clause(&response[start..end]);
        }
        end = response[..start].trim_end().len();
    }
    response.len()
}

/// Returns the place of the only number in words of a last sentence, "they need four vans", or of "does not exist".
pub(super) fn in_words(text: &str) -> Option<Range<usize>> {
    let start = sentence(text);
    let last = &text[start..];
    let signs = |text: &str| text.contains(|c: char| c.is_ascii_digit() || matches!(c, '$' | '\\'));
    let plain = !signs(last) && !last.contains('=');
    // "Yes, it is."
    let verdict =
        pattern!(r"^(?:\*\*[A-Z][a-z ]+:\*\* |[A-Z][a-z]+: )?(?:So )?\**([Yy]es|[Nn]o)\b\**[,.!]");
    // "They lack 500 sheets, so no, there is not enough.", "Therefore, **no**, they are not."
    let concluded = pattern!(r"(?:^So|, so|,) \**(yes|no)\**(?:,| [—–-]) ");
    let phrase = absence(last, plain).or_else(|| captured(verdict, last).filter(|_| plain));
    let everywhere = pattern!(
        r"(?i)^(?:(?:so|thus|hence|therefore),? )?the (?:inequality|equation|identity|statement|relation) (?:holds|is (?:true|valid|satisfied)) for ((?:every|all|any) real(?: numbers?| values?)?)(?: of)? \$[a-z]\$[.!*]*$"
    );
    let phrase = phrase.or_else(|| captured(concluded, last));
    if let Some(phrase) = phrase.or_else(|| captured(everywhere, last)) {
        return Some(start + phrase.start()..start + phrase.end());
    }
    // "12 - 4 + 6 makes fourteen birds"
    let ends = pattern!(
        r"(?i)(?:\b(?:‹verb of a value›|‹verb of a result›|make|makes|leaves|to be|end up (?:at|with)|so)|=) ((?:[a-z-]+ ){0,6}[a-z-]+)[.!*]*$"
    );
    let (start, last) = match captured(ends, last).filter(|_| !plain) {
        Some(tail) => (start + tail.start(), tail.as_str()),
        None => (start, last),
    };
    // "nineteen trees: eleven of hers, eight of his"
    let total = last.split([':', '—', ';']).next().unwrap_or_default();
    let counted = words::normalise(total).and_then(|words| words::only_number(&words));
    let last = if plain && counted.is_some() { total } else { last };
    // "After eating three of her ten apples, Emma has seven left."
    let number = |text: &str| {
        words::only_number(&words::normalise(text).filter(|_| !signs(text) && !text.contains('='))?)
    };
    let clause = last.rfind([',', ':']).map_or(0, |end| end + 1);
    let (start, last) = match number(last) {
        None if plain
            && !words::takes_back(&last.to_lowercase())
            && !last[clause..].starts_with(" which") =>
        {
            (start + clause, &last[clause..])
        }
        _ => (start, last),
    };
    let number = number(last)?;
    let stated = pattern!(r"(?i)^(?:zero|one|null|eins|uno|un)[.!*]*$").is_match(last.trim());
    if !plain && number <= 1.into() && !stated {
        return None;
    }
    let word = pattern!(r"[\p{Alphabetic}-]+").find_iter(last).map(|word| word.range());
    let words: Vec<Range<usize>> = word.collect();
    let reads = |(from, to): &(usize, usize)| {
        let text = last[words[*from].start..words[*to].end].to_lowercase();
        to - from < LONGEST_NUMBER && words::number(&text).is_some()
    };
    let runs = (0..words.len()).flat_map(|from| (from..words.len()).map(move |to| (from, to)));
    let longest = runs.filter(reads).max_by_key(|(from, to)| (to - from, Reverse(*from)));
    let (from, to) = longest?;
    // "minus seven"
    let sign = from
        .checked_sub(1)
        .filter(|before| lists("minus negative", &last[words[*before].clone()].to_lowercase()));
    Some(start + words[sign.unwrap_or(from)].start..start + words[to].end)
}

/// Returns "does not exist" of "As these differ, the limit does not exist.", "no solutions", and the like.
///
/// A sentence with formulas must conclude so: "The sides give $-1$ and $1$; hence the limit does not exist."
fn absence(last: &str, plain: bool) -> Option<Match<'_>> {
    let none = pattern!(
        r"(?i)\b(does not exist|do not exist|undefined|diverges|doesn['’]t exist|(?:does not|doesn.t) have any (?:real )?solutions?|no (?:real |such )?(?:solutions?|roots?|integers?|numbers?))[.!*]*$"
    );
    let concludes = pattern!(r"(?i)^\s*(?:so|hence|thus|therefore),? [^$0-9\\=]*$");
    let stands = plain || last.rsplit([';', ',']).next().is_some_and(|end| concludes.is_match(end));
    captured(none, last).filter(|_| stands)
}

/// Returns the start of the last sentence.
fn sentence(text: &str) -> usize {
    let tail = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
    let near = text[tail..].trim_end_matches(['.', '!', '*', ')', '"']);
    let stops = pattern!(r#"[.!?]["*)]*\s+|[。！？]["*)）]*\s*|\n\s*"#).find_iter(near);
    let abbreviated =
        pattern!(r"\b(?i:i\.e|e\.g|[ap]\.m|approx|resp|vs|ca|bzw|z\.B|d\.h|[(\s][dzue])$");
    let ends = stops.filter(|stop| !abbreviated.is_match(&near[..stop.start()]));
    tail + ends.last().map_or(0, |stop| stop.end())
}

/// Returns true for "(Probe: 2 · 2,5 = 5.)", "Note: …", "This is valid for all x" and the mark of the end of a proof.
fn is_remark(sentence: &str) -> bool {
    let text = sentence.trim_matches(['*', '_', ' ']);
    let bracketed = pattern!(r"^[(\[][^()]*(?:\([^()]*\)[^()]*)*[)\]]?[.!]?$").is_match(text);
    let in_words = pattern!(r"\p{Alphabetic}{3,}[^\p{Alphabetic}]+\p{Alphabetic}+").is_match(text);
    let lower = text.trim_start_matches('(').to_lowercase();
    let opens = |opening: &&str| {
        let rest = lower.strip_prefix(*opening);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
    };
    let mark = pattern!(r"^(?:\$?\\?(?:blacksquare|square|qed)\$?|[∎■□✓✔✅]|\s)*$").is_match(text);
    mark || bracketed && in_words || phrases("sentence that remarks").iter().any(opens)
}

/// Returns true for "At $x = 0$ it would equal 6.", behind a sentence that concludes with a value.
fn is_aside(text: &str, start: usize) -> bool {
    let (before, last) = (text[..start].trim_end(), &text[start..]);
    // "How many multiples of 4 are there? (24.)"
    if before.ends_with('?') && last.starts_with('(') {
        return true;
    }
    // "Mia has 23 beads. How many bracelets of 17 beads could she make?"
    if last.ends_with('?') && has_value(&before[sentence(before)..]) {
        return true;
    }
    let aside = pattern!(concat!(
        r"(?i)\b(?:would|could still|isn't asked|not asked|by then)\b|^(?:it is|this is|that is) (?:smaller|larger|less|greater|more) than|^the complement\b",
        r"|^(?:it|[A-Z][a-z]+) [a-z]+ [$0-9./]+ (?:[a-z]+ ){0,2}(?:‹compares quantities›) than\b",
        r"|^(?:it|this|that)(?: is|'s| was) (?:[a-z]+ )?(?:an? |[$0-9.,/%]+ |half |twice |three |two |five )[^.]*\b(?:than|as [a-z]+ as|above|below|times|of the)\b",
    ));
    let concludes = pattern!(r"(?i)^\W*(?:‹opens a conclusion›)\b");
    let previous = &before[sentence(before)..];
    // "It would have been 570 if overtime paid more.", "95 minutes cannot be."
    let unreal = pattern!(concat!(
        r"(?i)\bwould(?:n['’]t| not)?(?:['’]ve| have) (?:been|had|got|taken|given|made|cost|paid|left|won|[a-z]+ed)\b",
        r"|\bwould be (?:wrong|incorrect|a mistake|too|double|counting)\b|\bor (?:it|this|that|there|he|she|they) would\b",
        r"|^\W*(?:had|if [^,.]*\b(?:had|were|hadn['’]t|weren['’]t|couldn['’]t|didn['’]t))\b[^.]*(?:\b(?:would|could|might)\b|['’]d\b)",
        r"|^\W*(?:it|that|this|\$?[0-9][^.,]{0,24}) (?:can['’]t|cannot|couldn['’]t) be\b",
    ));
    let unreal = unreal.find(last).is_some_and(|sign| !last[..sign.start()].contains(';'));
    let unreal = unreal && !last.contains(", but ");
    if unreal && has_value(previous) && !concludes.is_match(last) {
        return true;
    }
    if last.contains('=') && !last.contains('$') || !aside.is_match(last) {
        return false;
    }
    let result = pattern!(r"(?i)\b(?:so|thus|hence|therefore|altogether|in all|in total)\b|=");
    let is_result = concludes.is_match(previous)
        || result.is_match(previous)
            && (!last.contains("would")
                || pattern!(r"^(?:Its|Their|The (?:other|opposite)|In|With|Without|Over|One) ")
                    .is_match(last));
    let goes_on = concludes.is_match(last) || pattern!(r", (?:and )?(?:so|thus) ").is_match(last);
    is_result && has_value(previous) && !goes_on
}

/// Returns the length of the main clause: up to a reason, a denial or a comparison with another value.
fn clause(sentence: &str) -> usize {
    // "(not 42, since the six are not on the trays)"
    let bracket = pattern!(
        r"\s\((?:not [^\n]*|a\b[^()]*|\p{Alphabetic}{2,}[^()]*|[^()]*\p{Alphabetic}{3,}\s[^()]*|[0-9.,]+ ?(?:[°%]|[a-zA-Z]+))\)[.!*]*$"
    );
    let bracket = bracket.find(sentence).filter(|remark| {
        remark.as_str().trim_start().starts_with("(not ")
            || !pattern!(r"multiplicity|double|repeated|twice|mod\b|reject|extraneous")
                .is_match(remark.as_str())
    });
    let bracket = bracket.map(|remark| remark.start());
    let length = bracket.filter(|at| has_value(&sentence[..*at])).unwrap_or(sentence.len());
    let sentence = &sentence[..length];
    let aside = pattern!(concat!(
        r"(?i), (?:‹opens an aside›|which [^,]*\b(?:‹compares in an aside›)|i\.e\. [^,]*\b(?:more|less|fewer) than|i\.e\.,? all|which (?:is|are) (?:all|the|exactly)|an? [0-9.]+ ?% chance",
        r"|an? [a-z ]{1,30}(?:after|before)|(?:the|its|their) [^,]{1,60} being|where (?:the|all|each|both) [^=$]*$|at a distance|or [^,]{1,24} if|(?:he|she|it|they) (?:does|do|did|is|are) not",
        r"|(?:\$?[0-9./]+%?|[a-z]+)(?: [a-z]+){0,3} (?:‹compares quantities›) than|or [0-9.]+ ?(?:%|percent)|so (?:that|this)(?: is|['’]s) an?|after [a-z]+ing|for [0-9]+ itself|and [0-9.]+ would",
        r"|[\w-]+(?: of|(?: thirds?| quarters?) of) (?:which|whom|them|the))\b|,? (?:‹breaks a clause›) |[，,]而不是| for all (?:real )?\$",
        r"|; [^;=]*\b(?:would|must|while|stays|not)\b|[,(] ?(?:which is |or )?(?:‹approximates›) ?\$?[0-9.,]+[^,;]*$|, or [0-9.]+(?:\.\.\.|…)$|, or [^$]* in decimal form",
    ));
    // "**36** integers are divisible by neither 4 nor 5."
    let bold = pattern!(r"\*\*[^*]*[0-9][^*:]*\*\*").find_iter(sentence);
    if let Some(only) = single(bold)
        && !pattern!(r";|\b(?:is|are|equals)\b").is_match(&sentence[only.end()..])
    {
        return only.end();
    }
    // "whereas the range, which is the question, is $"
    let asked = pattern!(r"(?i)\b(?:‹names what is asked›)\b");
    let strong = aside.find_iter(sentence).find(|cut| {
        // "Anna, whose age we want, is 10"
        let tail = &sentence[cut.end()..];
        let inserted = pattern!(r"^[^,]*, (?:is|are|has|equals|=) ").is_match(tail);
        // "Over a year she'd pay $420, but for a month it is 35 dollars."
        let head = &sentence[..cut.start()];
        let unreal = pattern!(r"\bwould\b|[a-z]['’]d\b").is_match(head) && has_value(tail);
        // "34 are possible, but since one does not write, 35 are needed."
        let from = head.strip_suffix(" and").unwrap_or(head).len();
        let leads = pattern!(r"^,? (?:and|but) (?:since|because|as)\b").is_match(&sentence[from..]);
        // "…; hence the limit does not exist."
        let concluding = pattern!(r"^; (?:so|hence|thus|therefore)\b").is_match(cut.as_str());
        let cuts = !inserted && !unreal && !leads && !concluding;
        has_value(head) && cuts && !asked.is_match(tail)
    });
    // "12 of the 40 students"
    let part = pattern!(
        r"[0-9]\$?(?: [a-z]{1,3})?( of (?:the|its|his|her|their|our)(?: initial| original)? [0-9])"
    );
    let concludes = pattern!(r"\b(?:so|thus|hence|therefore|is|are|equals)\b");
    let part = captured(part, sentence)
        .filter(|part| !concludes.is_match(&sentence[part.end()..]))
        .map(|part| part.start());
    let cuts = strong.map(|cut| cut.start()).into_iter().chain(part).chain(before_parts(sentence));
    let length = cuts.min().unwrap_or(length);
    let sentence = &sentence[..length];
    let place = pattern!(" (?:‹behind a counted noun›) ");
    let goes_on = pattern!(r"(?i)=|\$|\b(?:‹continues a clause›)\b");
    let weak = place
        .find_iter(sentence)
        .find(|cut| counts(&sentence[..cut.start()]) && !goes_on.is_match(&sentence[cut.end()..]));
    weak.map_or(length, |cut| cut.start())
}

fn has_value(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit() || c == '$')
        || words::normalise(text).is_some_and(|words| words::only_number(&words).is_some())
}

/// Returns the end of a total, behind which its parts follow: "They won 45 euros: 30 on Monday and 15 on Tuesday".
fn before_parts(sentence: &str) -> Option<usize> {
    let (total, parts) = sentence.split_once(": ")?;
    let number = pattern!(r"[0-9]+");
    let value = |number: &str| number.parse::<u64>().ok();
    let counted = value(number.find_iter(total).last()?.as_str())?;
    let parts = number.find_iter(parts).map(|part| value(part.as_str()));
    let parts: Vec<u64> = parts.collect::<Option<_>>()?;
    let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
    // "18 minutes a day: 50 by bus against 32 by bike"
    let difference = matches!(parts[..], [more, less] if more.checked_sub(less) == Some(counted));
    (parts.len() > 1 && (sum == Some(counted) || difference)).then_some(total.len())
}

/// Returns true for a clause that ends in a counted noun behind its verb: "The farmer has 17 hens left", "16 people think".
fn counts(clause: &str) -> bool {
    let counted = pattern!(concat!(
        r"(?i)(?:\b(?:‹verb of a sentence›|‹verb of a value›)(?: [a-z]+){0,2} |^\W*(?:(?:so|thus|therefore|hence|then),? )?)",
        r"\**[$€£]?([0-9][0-9.,]*|[a-z]+)%?\**((?: [a-z]+\**){1,6})$",
    ));
    let Some(parts) = counted.captures(clause) else { return false };
    let value = parts[1].to_lowercase();
    let number = value.contains(|c: char| c.is_ascii_digit())
        || words::number(&value).is_some_and(|number| number > 1.into());
    // "20 divided by 4 is equal", before "to 5"
    number && !pattern!(r"(?i)\b(?:‹calculates›)\b").is_match(&parts[2])
}
