//! Formulas of substances and nuclides, and equations of their reactions, by one spelling for each.

use regex::Captures;

use crate::table::{pattern, without};

/// Fonts and spaces of formulas, which change nothing.
const FONTS: [&str; 6] = ["\\mathrm", "\\text", "\\ce", "\\,", "\\;", " "];

/// Returns one spelling for a nuclide, a substance or a reaction.
pub(super) fn formula(spelled: &str) -> Option<String> {
    if pattern!(r"rightarrow|harpoons|\\to(?:[^A-Za-z]|$)|->").is_match(spelled) {
        return reaction(spelled);
    }
    nuclide(spelled).or_else(|| substance(spelled))
}

/// Returns `^14_7N` for `{}^{14}_{7}\mathrm{N}`.
fn nuclide(spelled: &str) -> Option<String> {
    let notation = pattern!(
        r"^(?:\{\})?(?:\^\{?([0-9]+)\}?_\{?([0-9]+)\}?|_\{?([0-9]+)\}?\^\{?([0-9]+)\}?)(?:\\(?:mathrm|text))?\{?([A-Z][a-z]?)\}?$"
    );
    let parts = spelled.contains('_').then(|| notation.captures(spelled)).flatten()?;
    let (mass, charge) = (parts.get(1).or(parts.get(4))?, parts.get(2).or(parts.get(3))?);
    Some(format!("^{}_{}{}", mass.as_str(), charge.as_str(), &parts[5]))
}

/// Returns `2H2+O2->2H2O` for `O_2 + 2H_2 \rightarrow 2H_2O`, and `^14|6|C->\bar\nue+^14|7|N+e^m` for a decay.
fn reaction(spelled: &str) -> Option<String> {
    let arrow = pattern!(r"\\(?:(?:long)?(?:left)?rightarrow|rightleftharpoons|to)([^A-Za-z]|$)");
    let both = if spelled.contains("left") { "<" } else { "" };
    let plain = arrow.replace_all(spelled, "->$1");
    let plain = without(&plain, &FONTS).replace("_{+", "_{");
    // `{}_6^{14}` and `{}^{14}_6`
    let turned = pattern!(r"_(?:\{(-?[0-9]+)\}|([0-9]))\^(?:\{([0-9]+)\}|([0-9]))");
    let plain = turned.replace_all(&plain, "^{$3$4}_{$1$2}");
    let nuclide = pattern!(r"\^(?:\{([0-9]+)\}|([0-9]))_(?:\{(-?[0-9]+)\}|([0-9]))");
    let plain = nuclide.replace_all(&plain, "^$1$2|$3$4|");
    // The sign of a charge joins no summands.
    let charge = pattern!(r"\^(?:\{([0-9]*)([-+])\}|([-+]))");
    let plain = charge.replace_all(&plain, |parts: &Captures<'_>| {
        let sign = parts.get(2).or(parts.get(3)).map_or("", |sign| sign.as_str());
        let count = parts.get(1).map_or("", |count| count.as_str());
        format!("^{count}{}", if sign == "+" { "p" } else { "m" })
    });
    let plain = without(&plain, &["{", "}", "_"]);
    let signs = pattern!(r"^(?:[A-Za-z0-9()^|+>.-]|\\(?:bar|nu|alpha|beta|gamma))+$");
    let bracketed = pattern!(r"\([^()]*[+>]");
    let of_elements = plain.contains(|c: char| c.is_ascii_uppercase());
    if !signs.is_match(&plain) || !of_elements || bracketed.is_match(&plain) {
        return None;
    }
    let sorted = |side: &str| {
        let mut summands: Vec<&str> = side.split('+').collect();
        summands.sort_unstable();
        summands.join("+")
    };
    let sides: Vec<String> = plain.split("->").map(sorted).collect();
    Some(sides.join("->") + both)
}

/// Returns `H2SO4` for `\mathrm{H_2SO_4}`, `\text{H}_2\text{SO}_4` and `\ce{H2SO4}`.
fn substance(spelled: &str) -> Option<String> {
    let upright = ["\\mathrm", "\\text", "\\ce"].iter().any(|name| spelled.starts_with(name))
        || pattern!(r"\^\{[0-9]?[-+]\}$").is_match(spelled);
    let plain =
        upright.then(|| without(spelled, &["\\mathrm", "\\text", "\\ce", "{", "}", "_"]))?;
    pattern!(r"^(?:\(?[A-Z][a-z]?\)?[0-9]*)+(?:\^[0-9]*[-+])?$").is_match(&plain).then_some(plain)
}
