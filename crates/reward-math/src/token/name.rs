//! Classification of runs of letters as words.

use std::sync::LazyLock;

use crate::table::Table;

/// Names of functions, abbreviations of units, and short words that are no products of variables.
static KINDS: LazyLock<Table> = LazyLock::new(|| Table::new(include_str!("names.txt"), ' '));

/// Returns true if a run of two or more letters is a word or name rather than a product of variables.
pub(super) fn is_word(run: &str) -> bool {
    // `NO` and `OR` are segments of a figure.
    if run.len() == 2
        && run.bytes().all(|byte| byte.is_ascii_uppercase())
        && !matches!(run, "AM" | "PM")
    {
        return false;
    }
    let lower = run.to_lowercase();
    let mut characters = run.chars();
    // "May", "Tom", "Red".
    let capitalised = characters.next().is_some_and(char::is_uppercase)
        && run.chars().count() >= 3
        && characters.all(char::is_lowercase);
    run.chars().count() >= 4 && !is_product(run)
        || capitalised
        || !run.is_ascii()
        || run == "Rs"
        || KINDS.name(&lower).is_some_and(|kind| {
            // `dM`, `mM`: a differential, two masses.
            kind != "unit" || !run.ends_with('M')
        })
}

/// Returns true for `mghR`: letters of both cases without a vowel, and no unit such as `mmHg`.
fn is_product(run: &str) -> bool {
    let capitals = run.chars().skip(1).any(|c| c.is_ascii_uppercase());
    let small = run.chars().any(|c| c.is_ascii_lowercase());
    capitals
        && small
        && run.is_ascii()
        && !run.contains(['a', 'e', 'i', 'o', 'u', 'y'])
        && run != "mmHg"
}

/// Returns true for an abbreviation of a unit, which is one only after a number: `mg\sin\theta` is a product.
pub(super) fn is_unit_abbreviation(run: &str) -> bool {
    KINDS.name(run) == Some("unit")
}

/// Splits `sinx` and `lny` into the function and its argument.
pub(super) fn split_function(run: &str) -> Option<(&str, char)> {
    let argument = run.chars().next_back().filter(|c| matches!(c, 'x' | 'y'))?;
    let name = &run[..run.len() - 1];
    matches!(name, "sin" | "cos" | "tan" | "cot" | "sec" | "csc" | "ln" | "log" | "lg" | "exp")
        .then_some((name, argument))
}
