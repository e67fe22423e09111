//! Preparation of the text before parsing: plain spelling, rarer notations, labels and domains.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use dashu::Rational;
use regex::{Captures, Match, RegexSet};

use super::{notation, substance};
use crate::parser::{self, MAX_DIGITS_IN_BASE};
use crate::table::{
    Pattern, captured, compiled, pattern, phrases, starts_with_ignoring_case, unwrapped,
};
use crate::words;

/// Removes spaces and decoration, for the first rung.
pub(super) fn spelling(folded: &str) -> String {
    if folded.bytes().all(|byte| byte.is_ascii_digit()) {
        return folded.to_owned();
    }
    let text = pattern!(r"\\(?:left|right)(?-u:\b)|\\!|\$").replace_all(folded, "");
    let text = pattern!(r"\\[dt]frac").replace_all(&text, r"\frac");
    let text = text.replace("\\,", " ").replace("\\;", " ");
    let text = if text.contains("\\\\") { text } else { text.replace("\\ ", " ") };
    // A space ends a command (`\pi r`) and separates digits; all other spaces are ignored.
    let mut spelled = String::with_capacity(text.len());
    for word in text.split(' ') {
        if spelled.ends_with(char::is_alphanumeric) && word.starts_with(char::is_alphanumeric) {
            spelled.push(' ');
        }
        spelled.push_str(word);
    }
    substance::formula(&spelled).unwrap_or(spelled)
}

/// Closes a brace that stands open.
pub(super) fn with_brace(text: &str) -> Cow<'_, str> {
    let open = text.matches('{').count() > text.matches('}').count();
    if open { Cow::Owned(format!("{text}}}")) } else { Cow::Borrowed(text) }
}

/// Removes the values that a list rejects: `x = 3` of `x = 3, x = -1 \text{ (rejected)}`.
pub(super) fn without_rejected(folded: &str) -> Cow<'_, str> {
    // `9\text{ cm (the root } -4 \text{ is discarded)}`
    let aside = pattern!(
        r"(?s)^(.*?[^\s(\\])(?:\s|\\[,;\x20]|\\q?quad)*(?:\\text\s*\{\s*)?\(([^()]*?(-?[0-9]+)[^()0-9]*\b(?:is|are|was|were)(?: [a-z]+)? (?:rejected|discarded|extraneous|excluded)[^()0-9]*|(?:\\text\s*\{)?\s*(?:reject|discard|exclude)[^()0-9]*?(-?[0-9]+)[^()0-9]*)\)[\s}.]*$"
    );
    let rejects = ["reject", "discard", "extraneous", "exclude"];
    if rejects.iter().any(|word| folded.contains(word))
        && let Some(parts) = aside.captures(folded)
        && let Some(value) = parts.get(3).or(parts.get(4))
        && !parts[1].contains(value.as_str())
    {
        return Cow::Owned(with_brace(&parts[1]).into_owned());
    }
    let between = pattern!(r"[,;]|\\text\s*\{\s*(?:and|or)\s*\}|\b(?:and|or)\b");
    let rejected = pattern!(
        r"(?x)^[^(]*(?:\\text\s*\{\s*\(|\(\s*\\text\s*\{|\()\s* (?:reject|extraneous|discard|excluded|舍) [^(){}=0-9]* [)}\s]+$"
    );
    let mut values: Vec<&str> = between.split(folded).collect();
    let count = values.len();
    values.retain(|value| !rejected.is_match(value));
    if values.is_empty() || values.len() == count {
        return Cow::Borrowed(folded);
    }
    Cow::Owned(values.join(",").trim().to_owned())
}

/// Notations of a list: their patterns, and what the parser reads for each.
struct Rewrites {
    /// A part of the text of each.
    parts: RegexSet,
    patterns: Vec<(Pattern, &'static str)>,
}

/// Notations by the name of their list.
static REWRITES: LazyLock<HashMap<&str, Rewrites>> = LazyLock::new(|| {
    let rewrite = |line: &'static str| {
        let mut parts = line.split(" ⇒ ");
        let (part, pattern) = (parts.next()?, parts.next()?);
        Some((regex::escape(part), (compiled(pattern), parts.next()?)))
    };
    let list = |list: &'static str| {
        let (name, lines) = list.split_once("]\n")?;
        let (parts, patterns): (Vec<_>, _) = lines.lines().filter_map(rewrite).unzip();
        Some((name, Rewrites { parts: RegexSet::new(parts).expect("constant parts"), patterns }))
    };
    include_str!("rewrites.txt").split("\n[").filter_map(list).collect()
});

/// Rewrites a text by the first notation of a list that stands in it.
pub(super) fn rewrite<'a>(list: &str, folded: &'a str) -> Cow<'a, str> {
    let Rewrites { parts, patterns } = &REWRITES[list];
    let places = parts.matches(folded);
    let mut all =
        places.iter().map(|place| patterns[place].0.replace_all(folded, patterns[place].1));
    all.find(|text| matches!(text, Cow::Owned(_))).unwrap_or(Cow::Borrowed(folded))
}

/// Rewrites the notations of `rewrites.txt`, and the brackets of `]1; 2[`.
pub(super) fn rewritten(folded: &str) -> Cow<'_, str> {
    if let Some(residues) = notation::other_residues(folded) {
        return Cow::Owned(residues);
    }
    if let rewritten @ Cow::Owned(_) = rewrite("notation", folded) {
        return rewritten;
    }
    if !pattern!(r"^[^\[(]*\]|\[(?:\\right)?$").is_match(folded) {
        return Cow::Borrowed(folded);
    }
    let open = pattern!(r"([\]\[])([^\[\]()]*[;,][^\[\]()]*|[^\[\];]*;[^\[\];]*)([\]\[])");
    open.replace_all(folded, |parts: &Captures<'_>| {
        let low = if &parts[1] == "]" { "(" } else { "[" };
        let high = if &parts[3] == "[" { ")" } else { "]" };
        format!("{low}{}{high}", &parts[2])
    })
}

/// Returns the values behind their number, `= 3 \text{ values: } 12, 24`, or what a value leads to: `\Rightarrow A \text{ is …}`.
fn said_more(folded: &str) -> Option<Match<'_>> {
    let listed = pattern!(r"=\s*[0-9]+\s*(\\text\s*\{\s*(?:‹counted›):?\s*\}\s*:?\s*[-0-9(\\])");
    let property = pattern!(
        r"=[^=]*[0-9}][^=]*?((?:\s|\\[,;\x20]|\\q?quad)*\\(?:Rightarrow|implies|Longrightarrow)(?:\s|\\[,;\x20])*[A-Za-z]?\s*\\text\s*\{\s*(?:is|are) [a-z -]+\}\.?|,(?:\s|\\[,;\x20])*\\text\s*\{\s*(?:so|hence|thus) [a-z ]+ (?:is|are) [a-z -]+\}\.?)$"
    );
    captured(listed, folded).or_else(|| captured(property, folded))
}

/// Removes "(since …", ", because …" and ", which …" from the end.
pub(super) fn without_reason(folded: &str) -> Cow<'_, str> {
    // `x = 2 \checkmark, x = 3 \checkmark`
    if folded.contains("\\checkmark") {
        let ticks = pattern!(
            r"(?:\\checkmark(?:\s|\\[,;\x20]|\\q?quad)*)+([,;]|\\text\s*\{\s*(?:,|and|or|und|et|y)\b)"
        );
        if let Cow::Owned(unticked) = ticks.replace_all(folded, "$1") {
            return Cow::Owned(without_reason(&unticked).into_owned());
        }
    }
    // `\frac1e (\approx 0.37)`
    // `\frac18 (12.5\%)`
    let rounded =
        pattern!(r"(?:(?:\s|\\[;,])*\(\s*\\approx[^()]*|(?:\s|\\[;,\x20]|\\text\s*\{)+\(\s*(?:or[\s}]*[0-9.]+(?:\s*\\?%)?|[0-9.]+\s*\\?%)|(?:\s|\\[;,\x20]|\\q?quad)+\((?:[-+0-9.^\s{}]|\\(?:times|cdot|[dt]?frac|div|[,;\x20]))+=(?:[-+0-9.,=^\s{}]|\\(?:times|cdot|[dt]?frac|div|[,;\x20]))+)\)$")
            .find(folded);
    // `f(x) \le \frac{6\sqrt2}{\sqrt6} = 2\sqrt3 \quad (x = 6)`
    let place = pattern!(
        r"(?:\s|\\[;,]|\\\x20|\\q?quad)+(?:\\left)?\(\s*[a-z]\s*=\s*[-0-9a-z\\{}\s]+(?:\\right)?\)$"
    );
    let place = folded.ends_with(')').then(|| place.find(folded)).flatten();
    let place = place.filter(|place| folded[..place.start()].contains('='));
    let bracket = rounded.or(place).filter(|bracket| bracket.start() > 0);
    let folded = bracket.map_or(folded, |bracket| &folded[..bracket.start()]);
    let reason = pattern!(concat!(
        r"\\text\s*\{[\s,;(]*(?:‹opens a reason›)(?:[^a-zA-Z]|$)",
        r"|(?:[,;(]|\\q?quad|\\[,;\x20]\\?)\s*(?:\\[,;\x20]\s*)*\\text\s*\{\s*(?:‹opens a reason behind a comma›)(?:[^a-zA-Z]|$)",
        r"|\\text\s*\{\s*[,(]\s*(?:‹opens a reason behind a comma›)(?:[^a-zA-Z]|$)",
        r"|,\s+(?:‹opens a reason behind a comma›)\s",
        // `7 \text{, by Vieta's formulas}`, but `3 \text{, by 4}`
        r"|(?:\\text\s*\{\s*,|,\s*\\text\s*\{|,\s)\s*by [A-Za-z][a-z]{2,}",
        r"|\\text\s*\{\s*(?:is|are) (?:all |exactly )?(?:the |our )?(?:only |all )?(?:possible )?(?:pairs?|triples?|solutions?|values?|answers?|ones?)\s*\}$",
    ));
    let worded = folded.contains("text") || folded.contains(", ");
    let reason = worded.then(|| reason.find(folded)).flatten();
    let spelled = pattern!("‹reason›").find(folded);
    let more = worded.then(|| said_more(folded)).flatten();
    // `11 \text{, not } 10`, where `x > 0 \text{, not } 10` leaves a value out.
    // "x = 3, not x = 4"
    let contrast = pattern!(r"‹contrast›|, (?:and )?not (?:[^.;]|\.[0-9]){1,64}$").find(folded);
    let bounds = pattern!(r"[<>]|\\(?:[lg]eq?|in|mathbb|cup|neq?)(?-u:\b)");
    let of_value = contrast.filter(|contrast| !bounds.is_match(&folded[..contrast.start()]));
    let cuts = [spelled, reason, more, of_value].into_iter().flatten().map(|cut| cut.start());
    // "x = 3 fails the check since", "9 is half of the area, which is"
    let another = pattern!(r"\b(?:‹of another value›)\b");
    match cuts.min().filter(|at| !another.is_match(&folded[..*at])) {
        Some(at) if !folded[..at].trim().is_empty() => {
            let rest = folded[..at].trim_end();
            // `3\ (\text{independent of } n)`
            let bracket = pattern!(r"(?:\s|\\[,;\x20]|\\q?quad|\\left)*[(\[]$");
            let rest = bracket.find(rest).map_or(rest, |bracket| &rest[..bracket.start()]);
            with_brace(rest)
        }
        _ => Cow::Borrowed(folded),
    }
}

/// Removes `, k \in \mathbb{Z}`, `(n \in \mathbb{N}^*)` or the first index of a sequence from the end.
pub(super) fn without_domain(folded: &str) -> &str {
    let domain = pattern!(
        r"(?xs)^(.*?[^\s\\]) (?:[\s,;$]|\\q?quad|\\left|\\,|\\\x20)*
        (?:(\()|[,;]|\\q?quad|\\text\{\x20?(?:where|for|with)[a-z\x20]*\}|where|with|\x20for) (?:[\s$]|\\[,;:]?)*
        (?-u:\b)(?:[A-Za-z]\s*,\s*)*[A-Za-z0-9_]{1,3} \s* \\in (?:[\s{}^_$]|\\math(?:bb|bf|rm)|\\text)*
        \\?[ZNRQC] (?:[\s{}^_$*+.0]|_\{\s*(?:>|\\geq?)\s*0\s*\})* (\)[\s)}{$*+.]*)?$"
    );
    // `a_n = 2n\ (n \ge 1)`
    let first = pattern!(
        r"(?xs)^(.*?\S) (?:[\s,;]|\\q?quad|\\[,;\x20]|\\text\{\x20*for\x20*\}|\x20for\x20)* (?:\(|[,;]|\x20for|for\x20\})
        \s* ([nkmij]) \s* (?:\\geq?|>=?) \s* [0-9]+ \s* \)?$"
    );
    // `2^{k-1} \quad (k \ge 1)`
    let bounded = pattern!(
        r"(?s)^((?:[a-zA-Z][^=<>\s^]*\s*=)?(?:[^=<>]*|[^<>]*=[^<>]*=[^<>]*)\S)(?:[\s,]|\\q?quad|\\[,;\x20])+\(\s*([a-zA-Z])\s*(?:>|\\[lg](?:eqslant|eq|e))\s*-?[0-9]+\s*\)$"
    );
    for (form, index) in [(first, "_"), (bounded, "")] {
        if let Some(parts) = form.captures(folded)
            && let Some(rest) = parts.get(1)
            && rest.as_str().contains(&format!("{index}{}", &parts[2]))
        {
            return rest.as_str();
        }
    }
    // `x + 1 \quad (x \ne 1)`
    let excepted = pattern!(
        r"(?s)^([^<>]*\S)(?:[\s,]|\\q?quad|\\[,;\x20])+\(\s*\|?\s*[a-z]\s*\|?\s*(?:<|\\neq?(?:[^A-Za-z()]))[^()]*\)$"
    );
    if folded.ends_with(')')
        && let Some(rest) = captured(excepted, folded)
        && !pattern!(r"\\(?:in|[lg]eq?|mathbb|text)(?-u:\b)").is_match(rest.as_str())
    {
        return rest.as_str();
    }
    let parts = folded.contains("\\in").then(|| domain.captures(folded)).flatten();
    let closed = parts.filter(|parts| parts.get(2).is_some() == parts.get(3).is_some());
    closed.and_then(|parts| parts.get(1)).map_or(folded, |rest| rest.as_str())
}

/// Returns the name that the text declares a number, and its set: `k \in \mathbb{Z}`. It may be any letter.
pub(super) fn declared_parameter(folded: &str) -> Option<(String, String)> {
    let declaration = pattern!(
        r"(?x)(?:^|[\s{},;()$.:]) ([A-Za-z]) [\s{},;()$.:]* \\in
        (?:[\s{},;()$.:]|\\math(?:bb|bf|rm)|\\text)* \\?([ZNQRC])
        (?: \}*[_^]\{?\s*([+*0]|(?:>|\\geq?|\\geqslant)\s*[01]) | [\s{},;()$.:^_*+] | $)"
    );
    let parts = folded.contains("\\in").then(|| declaration.captures(folded)).flatten()?;
    let bound = parts.get(3).map_or("", |bound| bound.as_str());
    let set = match (&parts[2], bound.chars().next(), bound.chars().last()) {
        ("Z" | "N", Some('+' | '*'), _)
        | ("Z" | "N", Some('>'), Some('0'))
        | ("Z" | "N", Some('\\'), Some('1')) => "positive",
        ("Z" | "N", Some('\\'), Some('0')) | ("N", Some('0'), _) => "from 0",
        (set, ..) => set,
    };
    Some((parts[1].to_owned(), set.to_owned()))
}

/// Returns true if a number of one set is one of the other: `\mathbb{N}` may begin with 0 or with 1.
pub(crate) fn same_set(a: &str, b: &str) -> bool {
    let natural = |a: &str, b: &str| a == "N" && matches!(b, "positive" | "from 0");
    a == b || natural(a, b) || natural(b, a)
}

/// Returns the criterion of `\triangle ABC \cong \triangle DEF \text{ by SAS}`.
pub(super) fn criterion(folded: &str) -> Option<String> {
    let reason = pattern!(r"(?:\bby |\(|\{\s*)(AA|SAS|SSS|ASA|AAS|HL|RHS|LL)(?-u:\b)");
    let reason = folded.contains("\\triangle").then(|| captured(reason, folded)).flatten();
    reason.map(|reason| reason.as_str().to_owned())
}

/// Removes "for all x", which says nothing more of `x`.
pub(super) fn without_quantifiers(folded: &str) -> String {
    let inside = rewrite("quantifier inside", folded);
    let folded = rewrite("quantifier", &inside);
    rewrite("count", &rewrite("all of a count", &folded)).into_owned()
}

/// Splits "for some real constant c" off, with the name and the letter of its set.
pub(super) fn parameter_in_words(folded: &str) -> Option<(&str, (String, String))> {
    let declaration = pattern!(
        r"(?xs)^(.*?\S) (?:[,;\x20]|\\q?quad|\\text\{|\\,)+ (?:(?:for|where|with) \x20+ | (?-u:\b)(?P<bare>(?:any|each)\x20))
        ((?:some|any|all|every|each|an?|arbitrary)\x20+)? ((?:(?:positive|non-?negative|real|integers?|rational|complex|arbitrary
        |fixed|constants?|numbers?|parameter|values?|of) \x20*)*) \}? \x20* \$? ([A-Za-z]) [$}.]* $"
    );
    // `t \text{ is a positive integer}`
    let behind = pattern!(
        r"(?xs)^(.*?\S) (?:[,;\x20]|\\q?quad|\\,|where|\\text\{\x20*where\x20*\})+ (\$?) ([A-Za-z]) \$? \s* (?:\\text\{)? \s*
        (?:is\x20|being\x20|any\x20|an?\x20|arbitrary\x20)*
        ((?:positive|non-?negative|real|integer|rational|complex|constant|number|parameter|arbitrary)
        (?:positive|non-?negative|real|integer|rational|complex|constant|number|parameter|arbitrary|\x20)*?) \s* \}? $"
    );
    if let Some(parts) = behind.captures(folded) {
        let rest = parts.get(1)?.as_str();
        let parameter = (parts[3].to_owned(), set_in_words(&parts[4]).to_owned());
        return rest.contains(&parts[3]).then_some((rest, parameter));
    }
    let parts = declaration.captures(folded)?;
    if parts.get(3).is_none() && parts[4].is_empty() {
        return None;
    }
    let parameter = (parts[5].to_owned(), set_in_words(&parts[4]).to_owned());
    // "$n \pi$, any integer $n$"
    let declares = parts.name("bare").is_none() || parts[4].contains("integer");
    Some((parts.get(1)?.as_str(), parameter)).filter(|_| declares)
}

pub(super) fn set_in_words(words: &str) -> &'static str {
    match words {
        words if words.contains("integer") && words.contains("negative") => "from 0",
        words if words.contains("integer") && words.contains("positive") => "positive",
        words if words.contains("integer") => "Z",
        words if words.contains("positive") => "positive real",
        words if words.contains("rational") => "Q",
        words if words.contains("complex") => "C",
        _ => "R",
    }
}

/// Returns the text after "the point", "approximately" and other words before the value.
pub(super) fn behind_label(folded: &str) -> Option<&str> {
    let style = pattern!(r"^\\(?:text|math)(?:bf|rm)? ?\{").find(folded);
    let inner = style.map(|style| &folded[style.end()..]);
    let text = inner.unwrap_or(folded);
    let starts = |label: &&&str| starts_with_ignoring_case(text, label);
    let label = phrases("label").iter().filter(starts).max_by_key(|label| label.len())?;
    let rest = &text[label.len()..];
    if label.is_ascii() && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut rest = rest.trim_start_matches([' ', ':', ',', '=']);
    rest = rest.strip_prefix("\\ ").unwrap_or(rest);
    if inner.is_some() {
        rest = rest.strip_prefix('}').or_else(|| rest.strip_suffix('}'))?;
    }
    let rest = rest.trim_start_matches([' ', ':', ',', '=']);
    (!rest.is_empty()).then_some(rest)
}

/// Returns the texts behind the labels of an answer in parts: `(a) 5 (b) 6`, `(i) x (ii) y`, `(1) yes; (2) no`.
pub(super) fn labelled_parts(folded: &str) -> Option<Vec<String>> {
    const LABELS: [&str; 3] = ["a b c d e f g h", "i ii iii iv v vi vii viii", "1 2 3 4 5 6 7 8"];
    // Rows, each with its label.
    let environment = pattern!(
        r"(?s)^\\begin\{(?:aligned|array|gathered|split)\*?\}(?:\{[lrc|]*\})?\s*(?:&\s*)?(\\text(?:bf)?\s*\{\s*\([a1]\).*|\([a1]\).*)\\end\{[a-z]+\*?\}$"
    );
    if let Some(rows) = environment.captures(folded) {
        let line = pattern!(r"\\\\|&|\\displaystyle|\\q?quad(?-u:\b)").replace_all(&rows[1], " ");
        return labelled_parts(line.trim()).filter(|parts| parts.len() > 1);
    }
    if !folded.starts_with(['(', '{', '\\']) {
        return None;
    }
    // `\text{(i) True, (ii) False}`
    let folded = unwrapped(pattern!(r"^\\text\s*\{([^{}]*)\}$"), folded);
    // `\text{(c) No}`
    let folded = &pattern!(r"(\\text\{\([a-h]\)) +([^{}]+\})").replace_all(folded, r"$1}\text{$2");
    // Without a group around it, a label that no space follows is a factor in brackets.
    let label = pattern!(
        r"(?:\\text(?:bf)?)?\{+\(([a-h]|[iv]+|[1-8])\)\s*\}[ :]*|\(([a-h]|[iv]+|[1-8])\)(?:[ :]+|(\\|\$))"
    );
    let first = label.find(folded).filter(|first| folded[..first.start()].trim().is_empty())?;
    LABELS.into_iter().find_map(|labels| {
        let (mut parts, mut places, mut start) = (Vec::new(), Vec::new(), first.start());
        for captures in label.captures_iter(folded) {
            let name = captures.get(1).or(captures.get(2))?.as_str();
            let place = labels.split(' ').position(|known| known == name);
            // `(b) 5 (a) 3`: in another order, if the first is not (a).
            let expected = |place: &usize| match places.first() {
                Some(0) => *place == places.len(),
                _ => !places.contains(place),
            };
            if let Some(place) = place.filter(expected) {
                parts.push(&folded[start..captures.get(0)?.start()]);
                places.push(place);
                start = captures.get(3).map_or(captures.get(0)?.end(), |sign| sign.start());
            }
        }
        parts.push(&folded[start..]);
        let end = pattern!(r"(?:[,;. \\]|\\quad|and)*$");
        let part = |part: &&str| end.replace(part.trim(), "").into_owned();
        let (before, parts) = parts.split_first()?;
        let mut parts: Vec<(usize, String)> =
            places.into_iter().zip(parts.iter().map(part)).collect();
        parts.sort_unstable();
        let complete = parts
            .iter()
            .enumerate()
            .all(|(count, (place, part))| *place == count && !part.is_empty());
        (before.is_empty() && parts.len() > 1 && complete)
            .then(|| parts.into_iter().map(|(_, part)| part).collect())
    })
}

/// Parses digits in the base that a subscript names: `2A_{16}`, `(1010)_2`, `1010_{\text{two}}`, `110 base 2`.
///
/// Returns `None` if the text may mean something else.
pub(super) fn in_base(folded: &str) -> Option<Rational> {
    // `0xFF`
    let hexadecimal = pattern!(r"^(?:\\(?:text|math)(?:tt)?\{)?0x([0-9A-Fa-f]+)\}?$");
    if folded.contains("0x")
        && let Some(digits) = captured(hexadecimal, folded)
        && let digits = digits.as_str()
        && (1..=MAX_DIGITS_IN_BASE).contains(&digits.len())
    {
        return parser::in_base(&digits.to_uppercase(), 16);
    }
    // `1111\,1011`
    let bits = pattern!(
        r"^\(?([01]{4}(?:(?:\\[,;:\x20]|\s)+[01]{4})+)\)?(?:_\{?\s*(?:2|\\text\{two\}|\\text\{2\})\s*\}?)?$"
    );
    if folded.starts_with(['0', '1', '('])
        && let Some(digits) = captured(bits, folded)
        && digits.len() <= MAX_DIGITS_IN_BASE
    {
        let base = if folded.contains('_') { 2 } else { 10 };
        let digits: String = digits.as_str().chars().filter(char::is_ascii_digit).collect();
        return parser::in_base(&digits, base);
    }
    if !folded.contains(['_', 'b']) {
        return None;
    }
    let plain = pattern!(r"\\text(?:bf)?|\\mathrm|\\overline\b|\\,|[{} ]").replace_all(folded, "");
    let parts = pattern!(
        r"^(?:([0-9A-Z]+|[0-9][0-9a-f]*)|\(([0-9A-Za-f]+)\))(?:_\(?(?:base)?|\(?(?:in)?base[-_(]*)([0-9a-z]+)\)*$"
    )
    .captures(&plain)?;
    let digits = parts.get(1).or(parts.get(2))?.as_str();
    let base = match parts[3].parse::<i32>() {
        Ok(base) => base,
        Err(_) => i32::try_from(words::number(&parts[3])?.trunc()).ok()?,
    };
    // A letter with a subscript is a variable; the lexer reads only digits here.
    let letter = digits.len() < 2 && digits.bytes().all(|byte| byte.is_ascii_uppercase());
    let has = |kind: fn(&u8) -> bool| digits.as_bytes().iter().any(kind);
    let small = has(u8::is_ascii_lowercase) && !has(u8::is_ascii_digit);
    // `\overline{AB}_{12}` may be a segment.
    let named = folded.contains("overline") && !has(u8::is_ascii_digit);
    let bounded = digits.len() <= MAX_DIGITS_IN_BASE && (2..=36).contains(&base);
    (bounded && !(small || named || letter)).then(|| parser::in_base(digits, base))?
}
