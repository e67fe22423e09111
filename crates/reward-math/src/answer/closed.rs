//! Units and other words behind a closed formula, `$5$ m`, "$45^\\circ$ north of east": as words beside it.

use regex::Captures;

use crate::fold::fold;
use crate::parser::{function_name, is_greek};
use crate::table::{lists, pattern, without};
use crate::words::{self, is_conjunction};

/// Returns `5\text{ m}` for `$5$ m`, and `20\text{ N upward}` for "20 N upward"; `None` for other texts.
pub(super) fn with_words(text: &str) -> Option<String> {
    // `$9.8 \times 10^4$ Pa`
    let measured = pattern!(
        r"^\$([^$]+)\$(?:\s|~|\\[,;\x20])*([A-Za-zμΩ](?:[A-Za-zμΩ*/()·⋅²³⁻¹⁴\x20]|\\cdot |\^?\{?-?[0-9]\}?){0,24})$"
    );
    if let Some(parts) = measured.captures(text) {
        let unit = without(&fold(&parts[2]).replace("\\cdot", "*"), &["{", "}"]);
        if words::is_measure(&unit) {
            return Some(format!("{}\\text{{ {unit}}}", &parts[1]));
        }
    }
    // "20 N, to the left", "$20$ N upward"
    let directed = pattern!(
        r"^\$?(-?[0-9][0-9.,]*(?:\s*(?:\\times|×|\\cdot)\s*10\^\{?-?[0-9]+\}?)?)\$?\s([A-Za-z/^0-9²]+),?\s((?:(?:‹before a direction›) )*(?:‹direction of motion›)(?:wards?)?(?: direction)?)\.?$"
    );
    if let Some(parts) = directed.captures(text).filter(|parts| words::is_measure(&parts[2])) {
        return Some(format!("{}\\text{{ {} {}}}", &parts[1], &parts[2], &parts[3]));
    }
    // `$45^\circ$ north of east`
    let behind = pattern!(r"^\$([^$]+)\$([,;]? [A-Za-z]{2}[A-Za-z ,'-]*)\.?$");
    // `$3$ pi` and "$x$ and y" go on, "$f$ is even" is a sentence.
    let goes_on = |word: &str| {
        is_conjunction(word)
            || is_greek(word)
            || function_name(word).is_some()
            || word.len() == 1 && !lists("a I f g h", word)
            || lists("sqrt inf infinity times plus minus over mod divided", word)
    };
    let plain = |parts: &Captures<'_>| {
        let sentence = pattern!(r"^ (?:is|are) ").is_match(&parts[2])
            && parts[1].contains(char::is_alphabetic);
        !sentence && !parts[2].split([' ', ',', ';']).filter(|word| !word.is_empty()).any(goes_on)
    };
    let parts = behind.captures(text).filter(plain)?;
    Some(format!("{}\\text{{{}}}", &parts[1], &parts[2]))
}
