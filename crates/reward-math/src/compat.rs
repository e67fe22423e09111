//! Graders of other projects, for comparison with old runs: `reward-math grade --compat`.

use std::borrow::Cow;

use crate::gold::Gold;
use crate::options::Options;
use crate::table::quoted_pair;
use crate::token::group;
use crate::verdict::{ParseError, Rung, Side, Verdict};

/// Units that the recipe deletes, one a line, with or without a plural "s".
///
/// A full stop in them stands for any character, as in the recipe's patterns.
const UNITS: &str = include_str!("recipe_units.txt");

/// Spellings that the recipe replaces, each with its replacement.
const REWRITES: &str = include_str!("recipe_rewrites.txt");

/// The verdict of the recipe's grader on a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeScore {
    /// Verdict; right if the recipe accepts the answer.
    pub verdict: Verdict,
    /// Extracted answer; `None` gives its format score of 0.
    pub extracted: Option<String>,
}

/// Grades as the recipe of arXiv:2505.22617 does (`entropy_math`): the last `\boxed{…}`, compared after deleting units
/// and rewriting fractions, with its known false positives (`m + 1` is `t + 1`: both letters are units).
///
/// Its second and third comparison use `SymPy` and Math-Verify, which are not part of this crate; the ladder of this
/// crate replaces them. `tests/it/recipe.rs` lists the differences on the recorded pairs.
pub fn entropy_recipe(response: &str, ground_truth: &str) -> RecipeScore {
    let Some(answer) = boxed(response).filter(|answer| !answer.is_empty()) else {
        let verdict = Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer };
        return RecipeScore { verdict, extracted: boxed(response).map(str::to_owned) };
    };
    let gold = if ground_truth.contains("\\boxed") {
        boxed(ground_truth).unwrap_or(ground_truth)
    } else {
        ground_truth
    };
    let verdict = if normalised(answer) == normalised(gold) {
        Verdict::decided(true, Rung::Spelling)
    } else {
        match Gold::parse(gold, &Options::strict()) {
            Ok(gold) => gold.verify_answer(answer),
            Err(why) => Verdict::Unparsed { which: Side::GroundTruth, why },
        }
    };
    RecipeScore { verdict, extracted: Some(answer.to_owned()) }
}

/// Returns the content of the last `\boxed{…}`, if the last box is of that form.
fn boxed(text: &str) -> Option<&str> {
    group(&text[text.rfind("\\boxed")? + "\\boxed".len()..])
}

/// Normalises a string (after Hendrycks et al.) by the steps of the recipe.
fn normalised(text: &str) -> String {
    let mut text = text.trim().to_owned();
    if let Some(inner) = text.strip_prefix("\\text{").and_then(|rest| rest.strip_suffix('}'))
        && !inner.contains('}')
    {
        text = inner.trim().to_string();
    }
    text = text.replace('\n', "");
    for (from, to) in REWRITES.lines().filter_map(quoted_pair) {
        text = text.replace(from, to);
    }
    if text.ends_with('}')
        && let Some(at) = text.rfind("\\text{")
        && at > 0
        && !text[at..text.len() - 1].contains('}')
    {
        text.truncate(at);
        text = text.trim_end().to_string();
    }
    for _ in 0..2 {
        for unit in UNITS.lines() {
            for plural in [unit.to_owned(), format!("{unit}s")] {
                let without = without_unit(&text, &plural);
                if !without.is_empty() {
                    text = without.into_owned();
                }
            }
        }
    }
    for (from, to) in [("^{\\circ}", ""), ("^\\circ", ""), ("\\$", "")] {
        text = text.replace(from, to);
    }
    if let Some(at) = text.find("\\text{ ") {
        text.truncate(at);
    }
    for (from, to) in [("\\%", ""), ("%", ""), (" .", " 0."), ("{.", "{0.")] {
        text = text.replace(from, to);
    }
    if text.starts_with('.') {
        text.insert(0, '0');
    }
    if let Some((left, right)) = text.split_once('=')
        && left.chars().count() <= 2
        && !right.contains('=')
    {
        text = right.to_string();
    }
    text = braced(&text, "\\sqrt", 1);
    text.retain(|c| c != ' ');
    text = braced(&text, "\\frac", 2);
    if text == "0.5" {
        return "\\frac{1}{2}".to_owned();
    }
    slashed(&text).unwrap_or(text)
}

/// Removes a unit that has no letter, digit or `_` beside it.
fn without_unit<'a>(text: &'a str, unit: &str) -> Cow<'a, str> {
    let characters: Vec<char> = text.chars().collect();
    let pattern: Vec<char> = unit.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let fits = |at: usize| {
        let Some(window) = characters.get(at..at + pattern.len()) else { return false };
        let same = window.iter().zip(&pattern).all(|(c, p)| *p == '.' || c == p);
        let open = at == 0 || !is_word(characters[at - 1]);
        let closed = characters.get(at + pattern.len()).is_none_or(|c| !is_word(*c));
        same && open && closed
    };
    if !(0..characters.len()).any(fits) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut position = 0;
    while position < characters.len() {
        if fits(position) {
            position += pattern.len();
        } else {
            kept.push(characters[position]);
            position += 1;
        }
    }
    Cow::Owned(kept)
}

/// Rewrites `\frac12` as `\frac{1}{2}` and `\sqrt3` as `\sqrt{3}`: arguments of one character get braces.
fn braced(text: &str, command: &str, arguments: usize) -> String {
    let mut parts = text.split(command);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str(command);
        let mut rest = part;
        for _ in 0..arguments {
            match rest.chars().next() {
                Some(c) if c != '{' && c != '[' && !c.is_ascii_alphabetic() && c != '\\' => {
                    result.push('{');
                    result.push(c);
                    result.push('}');
                    rest = &rest[c.len_utf8()..];
                }
                _ => break,
            }
        }
        result.push_str(rest);
    }
    result
}

/// Rewrites `3/4` of integers as `\frac{3}{4}`.
fn slashed(text: &str) -> Option<String> {
    let (top, bottom) = text.split_once('/')?;
    let is_integer = |text: &str| text.parse::<i64>().is_ok();
    (is_integer(top) && is_integer(bottom)).then(|| format!("\\frac{{{top}}}{{{bottom}}}"))
}
