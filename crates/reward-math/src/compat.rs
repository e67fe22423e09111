//! Graders of other projects, for comparison with old runs: `reward-math grade --compat`.

use std::sync::LazyLock;

use crate::gold::Gold;
use crate::options::Options;
use crate::table::{Pattern, compiled, pattern, quoted_pair, without};
use crate::token::group;
use crate::verdict::{ParseError, Rung, Side, Verdict};

/// Units that the recipe deletes where no letter, digit or `_` is beside them, with or without a plural "s".
static UNITS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let plurals = include_str!("recipe_units.txt")
        .lines()
        .flat_map(|unit| [unit.to_owned(), format!("{unit}s")]);
    plurals.map(|unit| compiled(&format!("(^|[^0-9A-Za-z_]){unit}($|[^0-9A-Za-z_])"))).collect()
});

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
    let extracted = boxed(response);
    let gold = boxed(ground_truth).unwrap_or(ground_truth);
    let verdict = match extracted {
        None | Some("") => Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer },
        Some(answer) if normalised(answer) == normalised(gold) => {
            Verdict::decided(true, Rung::Spelling)
        }
        Some(answer) => Gold::parse(gold, &Options::strict())
            .map_or_else(Verdict::of_faulty_gold, |gold| gold.verify_answer(answer)),
    };
    RecipeScore { verdict, extracted: extracted.map(str::to_owned) }
}

/// Returns the content of the last `\boxed{…}`, if the last box is of that form.
fn boxed(text: &str) -> Option<&str> {
    group(&text[text.rfind("\\boxed")? + "\\boxed".len()..])
}

/// Normalises a string (after Hendrycks et al.) by the steps of the recipe.
fn normalised(text: &str) -> String {
    let text = pattern!(r"^\\text\{([^}]*)\}$").replace(text.trim(), "$1");
    let mut text = text.trim().replace('\n', "");
    for (from, to) in REWRITES.lines().filter_map(quoted_pair) {
        text = text.replace(from, to);
    }
    text = pattern!(r"^(.+)\\text\{[^}]*\}$").replace(&text, "$1").trim_end().to_owned();
    for unit in UNITS.iter().chain(UNITS.iter()) {
        let without = unit.replace_all(&text, "$1$2");
        if !without.is_empty() {
            text = without.into_owned();
        }
    }
    text = without(&text, &["^{\\circ}", "^\\circ", "\\$"]);
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
    // Arguments of one character get braces: `\frac12` is `\frac{1}{2}`, `\sqrt3` is `\sqrt{3}`.
    let text =
        pattern!(r"\\sqrt([^{\[A-Za-z\\])").replace_all(&text, r"\sqrt{$1}").replace(' ', "");
    let text =
        pattern!(r"\\frac([^{\[A-Za-z\\])([^{\[A-Za-z\\])").replace_all(&text, r"\frac{$1}{$2}");
    let text = pattern!(r"\\frac([^{\[A-Za-z\\])").replace_all(&text, r"\frac{$1}");
    if text == "0.5" {
        return "\\frac{1}{2}".to_owned();
    }
    pattern!("^(-?[0-9]+)/(-?[0-9]+)$").replace(&text, r"\frac{$1}{$2}").into_owned()
}
