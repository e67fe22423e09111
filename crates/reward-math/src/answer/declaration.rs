//! Declarations of an answer about its letters: `f(x) = mx + n \text{ for arbitrary real } m, n`, `k \in \mathbb{Z}`, `x \ne 1`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::Captures;

use super::spelling::{self, set_in_words, spelling};
use crate::table::{captured, lists, pattern};

/// The text of an answer without its declarations, and these as in [`Answer`](super::Answer).
pub(super) struct Declared {
    pub(super) rest: String,
    pub(super) parameter: Option<(String, String)>,
    pub(super) constants: Option<Constants>,
    pub(super) condition: Option<String>,
}

/// Returns the text with a Latin letter for a declared Greek one: `f(x) = \lambda x, \lambda \in \mathbb{R}`.
pub(super) fn in_latin(folded: &str) -> Cow<'_, str> {
    let declared = pattern!(
        r"[,;](?:\s|\\[,;\x20]|\\q?quad|\\text\{ ?(?:where|for|with) ?\})*(\\(?:lambda|mu|alpha|beta|gamma))\s*\\in\s*\\mathbb"
    );
    let name = folded.contains("\\in").then(|| captured(declared, folded)).flatten();
    let unused =
        ["c", "k", "s", "p", "q", "v"].into_iter().find(|letter| !folded.contains(*letter));
    match name.zip(unused) {
        Some((name, letter)) => folded.replace(name.as_str(), &format!(" {letter} ")).into(),
        None => folded.into(),
    }
}

/// Splits the declarations off an answer.
pub(super) fn declared(whole: &str) -> Declared {
    let (mut rest, mut parameter) = (whole, spelling::declared_parameter(whole));
    let mut constants = None;
    if let Some((before, declared)) = of_constants(rest) {
        rest = before;
        match declared.names.as_slice() {
            [only] => parameter = Some((only.clone(), declared.set)),
            _ => constants = Some(declared),
        }
    }
    if let Some((before, declared)) = spelling::parameter_in_words(rest) {
        (rest, parameter) = (before, parameter.or(Some(declared)));
    }
    let unquantified = spelling::without_quantifiers(rest);
    let (rest, condition, bounded) = split_condition(&unquantified);
    let parameter = parameter.or(bounded);
    Declared { rest: rest.to_owned(), parameter, constants, condition }
}

/// Names of constants that an answer declares together, and their set: `Z`, `R`, `positive`, …
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constants {
    pub(crate) names: Vec<String>,
    pub(crate) set: String,
}

/// Splits a declaration of several constants, or of one that is called arbitrary, off the end.
fn of_constants(folded: &str) -> Option<(&str, Constants)> {
    // `(k \in \mathbb{R} \text{ arbitrary})`, `with $\alpha, \beta \ge 1$`
    let by_sign = pattern!(
        r"(?xs)^(?P<rest>.*?[^\s\\]) (?:[\s,;:.$]|\\q?quad|\\[,;:\x20]|\\left)* (?:[,;(]|\\q?quad|\\text\s*\{\s*(?:with|where|for)(?:\x20integers?)?\x20*\}|(?:with|where|for)\x20)
        (?:[\s$(]|\\q?quad|\\[,;:\x20])*
        (?P<names>(?:[A-Za-z](?:_\{?[0-9]\}?)?|\\(?:alpha|beta|gamma|lambda|mu))(?:(?:[\s$]|\\[,;\x20])*(?:,|\\text\s*\{\s*and\s*\}|and)(?:[\s$]|\\[,;\x20])*(?:[A-Za-z](?:_\{?[0-9]\}?)?|\\(?:alpha|beta|gamma|lambda|mu)))*)
        \s* (?: \\in (?:[\s{}]|\\math(?:bb|bf|rm)|\\text)* \\?(?P<set>[ZNQRC]) (?P<part>(?:[\s{}_^+*0]|>|\\geq?(?:slant)?)*) | (?P<sign>>|\\geq?(?:slant)?) \s* (?P<least>[01]) )
        (?:(?:\s|\\[,;\x20]|\\q?quad)*(?:\\text\s*\{)?\s*(?P<any>arbitrary|constants?|fixed|are\x20arbitrary|is\x20arbitrary)\x20*\}?)? [\s)$.]*$"
    );
    // `\text{ for arbitrary real } m, n`
    let behind_words = pattern!(
        r"(?xs)^(?P<rest>.*?[^\s\\]) (?:[\s,;(]|\\q?quad|\\[,;:\x20])+ (?:\\text\s*\{)? [\s,(]* (?:for|where|with) (?:\s|\}|\\text\s*\{)+
        (?P<words>(?:(?:some|any|all|every|each|arbitrary|fixed|given|real|rational|complex|positive|non-?negative|integers?|constants?|numbers?|parameters?|reals) (?:[\s$}]|\\[,;\x20])+)+)
        (?P<names>[A-Za-z](?:_\{?[0-9]\}?)?(?:[\s}$]*(?:,|and|\\text\s*\{\s*and\s*\})[\s$]*[A-Za-z](?:_\{?[0-9]\}?)?)+) [\s)$.}]*$"
    );
    // `\text{ where } m, n \text{ are real constants}`
    let before_words = pattern!(
        r"(?xs)^(?P<rest>.*?[^\s\\]) (?:[\s,;(]|\\q?quad|\\[,;:\x20])+ (?:\\text\s*\{)? [\s,(]* (?:for|where|with|,) (?:\s|\}|\$)*
        (?P<names>[A-Za-z](?:_\{?[0-9]\}?)?(?:[\s}$]*(?:,|and|\\text\s*\{\s*and\s*\})[\s$]*[A-Za-z](?:_\{?[0-9]\}?)?)+) [\s$]* (?:\\text\s*\{)? \s*
        (?:(?:are|being|any|all)\x20+)+ (?P<words>(?:(?:arbitrary|fixed|real|rational|complex|positive|non-?negative|integers?|constants?|numbers?|parameters?|reals)[\s)$.}]*)+)$"
    );
    let parts =
        [by_sign, behind_words, before_words].iter().find_map(|form| form.captures(folded))?;
    let rest = parts.name("rest")?.as_str();
    let names = names(&parts["names"]);
    let part = |name| parts.name(name).map_or("", |part| part.as_str());
    let of_many = names.len() > 1 || !part("any").is_empty() && !part("set").is_empty();
    let set = match (part("words"), part("set"), part("part").trim_matches([' ', '{', '}'])) {
        ("", "", _) if part("least") == "1" || part("sign") == ">" => "positive",
        ("", "", _) => "from 0",
        ("", "Z" | "N", sign) if sign.contains(['+', '*', '>']) => "positive",
        ("", "Z" | "N", sign) if sign.contains('0') => "from 0",
        ("", set, _) => set,
        (words, ..) => set_in_words(words),
    };
    let uses = |name: &String| rest.contains(name.as_str());
    (of_many && names.iter().all(uses)).then(|| (rest, Constants { names, set: set.to_owned() }))
}

/// Returns the different names of a list.
fn names(list: &str) -> Vec<String> {
    let name = pattern!(r"\\?[A-Za-z]+(?:_\{?[0-9]\}?)?");
    let all = name.find_iter(list).map(|name| name.as_str().replace(['{', '}'], ""));
    let all = all.filter(|name| !matches!(name.as_str(), "and" | "\\text"));
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Splits "for all x in …" off an answer that has text before it, or a bound with the name that it bounds.
fn split_condition(folded: &str) -> (&str, Option<String>, Option<(String, String)>) {
    let cut = pattern!("‹for all›").find(folded).map(|opening| opening.start());
    // "2 for all n >= 3, 1 for n = 2": a value in each case.
    let cases = pattern!(r"(?:,|\\q?quad)(?:\s|\\[,;\x20])*-?[0-9][^,]*(?:for|if|when|\()");
    let cut = cut.filter(|at| !cases.is_match(&folded[*at..]));
    if let Some(at) = cut.filter(|at| *at > 0) {
        let rest = folded[..at].trim_end_matches([',', ' ', ';', '(']);
        let rest = rest.strip_suffix("\\quad").unwrap_or(rest);
        return (rest, Some(spelling(&folded[at..])), None);
    }
    let Some((rest, name, bounds)) = split_bounds(folded) else { return (folded, None, None) };
    // `2^k, k \ge 0`
    let set = match bounds.as_str() {
        "_\\ge0" => "from 0",
        "_\\ge1" | "_>0" => "positive",
        _ => "",
    };
    if set.is_empty() || !lists("j k l m n", &name) {
        return (rest, Some(bounds.clone()), Some((name, bounds)));
    }
    (rest, None, Some((name, set.to_owned())))
}

/// Splits "for t > 0" off an answer in which `t` occurs: its name, and the bound without it.
fn split_bounds(folded: &str) -> Option<(&str, String, String)> {
    let bounds = pattern!(
        r"(?xs)^(.*?\S) (?:[,\x20]|\\q?quad|\\text\{)+ (?:for|with\x20(?:an?\x20|some\x20)?integers?) (?:\x20|\}|\\text\{|some|any|integers?)*
        ((?:[^=A-Za-z]|\\[a-z]+\x20?)*([A-Za-z])[^=]*(?:[<>]|\\(?:geq?|leq?|neq?|lt|gt)[^A-Za-z]).*)$"
    );
    // `x + 1, x \ne 1`: beside an expression or a definition only.
    let behind_comma = pattern!(
        r"(?xs)^((?:[a-zA-Z](?:_\{?[A-Za-z0-9]+\}?)?(?:(?:\^\{-1\})?\([a-z]\))?\s*=|[^<>]*=[^<>]*=|[^<>]*/[^<>]*=|[^<>]*frac[^<>]*=)?[^=<>]*?[^\s$]) (?:[\x20$]|\\q?quad|\\[,;\x20])* (?:,|\\q?quad\x20*\() (?:[\x20$]|\\q?quad|\\[,;\x20])*
        ((?:[-+0-9./\\{}frac\s]+(?:<|\\(?:leq?|lt)\s)\s*)?\|?([a-zA-Z])\|?\s*(?:[<>]|\\(?:geq?|leq?|neq?|lt|gt)[^A-Za-z])[^,()]*)\)?$"
    );
    let concludes = pattern!(
        r"\\(?:therefore|implies|iff|[A-Za-z]*[rR]ightarrow)(?-u:\b)|\b(?:whence|hence|thus|so|therefore|value|answer)\b"
    );
    // In `cases` the bounds are those of a row.
    // `x^2 for x < 0 and 2x for x \ge 0` has two values.
    let another = pattern!(r"\b(?:for|if|when|otherwise|elsewhere)\b|[^<>!]=");
    let bound = |parts: &Captures<'_>| {
        !folded.ends_with('}') && !concludes.is_match(&parts[2]) && !another.is_match(&parts[2])
    };
    let parts = bounds.captures(folded).filter(bound).or_else(|| {
        let parts = behind_comma.captures(folded)?;
        let bounded =
            pattern!(r"\\(?:geq?|leq?|neq?|lt|gt|cup|cap|in)(?:[^A-Za-z]|$)").is_match(&parts[1]);
        (!bounded && !concludes.is_match(&parts[2]) && !parts[1].ends_with('\\')).then_some(parts)
    })?;
    let rest = parts.get(1)?.as_str();
    let bound = spelling(&parts[2])
        .replace("\\geq", "\\ge")
        .replace("\\leq", "\\le")
        .replace("\\neq", "\\ne");
    let bound = pattern!(r"\\?[A-Za-z]+").replace_all(&bound, |word: &Captures<'_>| {
        if word[0] == parts[3] { "_".to_owned() } else { word[0].to_owned() }
    });
    rest.contains(&parts[3]).then(|| (rest, parts[3].to_owned(), bound.replace(' ', "")))
}
