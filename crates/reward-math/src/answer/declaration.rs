//! Declarations of several constants behind an answer: `f(x) = mx + n \text{ for arbitrary real } m, n`.

use std::collections::BTreeSet;

use super::spelling::set_in_words;
use crate::table::pattern;

/// Names of constants that an answer declares together, and their set: `Z`, `R`, `positive`, …
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constants {
    pub(crate) names: Vec<String>,
    pub(crate) set: String,
}

/// Splits a declaration of several constants, or of one that is called arbitrary, off the end.
pub(super) fn of_constants(folded: &str) -> Option<(&str, Constants)> {
    // `(k \in \mathbb{R} \text{ arbitrary})`, `with $\alpha, \beta \ge 1$`
    let by_sign = pattern!(concat!(
        r"(?xs)^(?P<rest>.*?[^\s\\]) (?:[\s,;:.$]|\\q?quad|\\[,;:\x20]|\\left)* (?:[,;(]|\\q?quad|\\text\s*\{\s*(?:with|where|for)\x20*\}|(?:with|where|for)\x20)
        (?:[\s$(]|\\q?quad|\\[,;:\x20])*
        (?P<names>(?:[A-Za-z](?:_\{?[0-9]\}?)?|\\(?:alpha|beta|gamma|lambda|mu))(?:(?:[\s$]|\\[,;\x20])*(?:,|\\text\s*\{\s*and\s*\}|and)(?:[\s$]|\\[,;\x20])*(?:[A-Za-z](?:_\{?[0-9]\}?)?|\\(?:alpha|beta|gamma|lambda|mu)))*)
        \s* (?: \\in (?:[\s{}]|\\math(?:bb|bf|rm)|\\text)* \\?(?P<set>[ZNQRC]) (?P<part>(?:[\s{}_^+*0]|>|\\geq?(?:slant)?)*) | (?P<sign>>|\\geq?(?:slant)?) \s* (?P<least>[01]) )
        (?:(?:\s|\\[,;\x20]|\\q?quad)*(?:\\text\s*\{)?\s*(?P<any>arbitrary|constants?|fixed|are\x20arbitrary|is\x20arbitrary)\x20*\}?)? [\s)$.]*$"
    ));
    // `\text{ for arbitrary real } m, n`
    let behind_words = pattern!(concat!(
        r"(?xs)^(?P<rest>.*?[^\s\\]) (?:[\s,;(]|\\q?quad|\\[,;:\x20])+ (?:\\text\s*\{)? [\s,(]* (?:for|where|with) (?:\s|\}|\\text\s*\{)+
        (?P<words>(?:(?:some|any|all|every|each|arbitrary|fixed|given|real|rational|complex|positive|non-?negative|integers?|constants?|numbers?|parameters?|reals) (?:[\s$}]|\\[,;\x20])+)+)
        (?P<names>[A-Za-z](?:_\{?[0-9]\}?)?(?:[\s}$]*(?:,|and|\\text\s*\{\s*and\s*\})[\s$]*[A-Za-z](?:_\{?[0-9]\}?)?)+) [\s)$.}]*$"
    ));
    // `\text{ where } m, n \text{ are real constants}`
    let before_words = pattern!(concat!(
        r"(?xs)^(?P<rest>.*?[^\s\\]) (?:[\s,;(]|\\q?quad|\\[,;:\x20])+ (?:\\text\s*\{)? [\s,(]* (?:for|where|with|,) (?:\s|\}|\$)*
        (?P<names>[A-Za-z](?:_\{?[0-9]\}?)?(?:[\s}$]*(?:,|and|\\text\s*\{\s*and\s*\})[\s$]*[A-Za-z](?:_\{?[0-9]\}?)?)+) [\s$]* (?:\\text\s*\{)? \s*
        (?:(?:are|being|any|all)\x20+)+ (?P<words>(?:(?:arbitrary|fixed|real|rational|complex|positive|non-?negative|integers?|constants?|numbers?|parameters?|reals)[\s)$.}]*)+)$"
    ));
    let parts = [by_sign, behind_words, before_words].iter().find_map(|form| form.captures(folded))?;
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
