//! Classification of runs of letters as words.

/// Names of functions and constants written without a backslash.
const NAMES: &[&str] = &[
    "sqrt", "sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "lg", "exp", "arcsin", "arccos",
    "arctan", "abs", "pi", "tg", "ctg", "arctg", "inf", "infinity", "oo", "sgn", "cbrt", "cis",
];

/// Short words that are no products of variables.
const SHORT_WORDS: &[&str] = &[
    "usd", "eur", "rmb", "inr", "yes", "no", "odd", "the", "and", "or", "to", "is", "in", "of",
    "not", "are", "day", "days", "men", "man", "cat", "cats", "dog", "dogs", "mod", "gcd", "lcm",
    "max", "dne", "nan", "even", "none", "true", "year", "pie", "pies", "egg", "eggs", "cup",
    "cups", "box", "toy", "toys", "pen", "pens", "bag", "bags", "car", "cars", "all", "if", "for",
    "has", "had", "it", "feet", "inch", "old", "per", "cent", "cents", "two", "one", "six", "ten",
    "red", "big", "cow", "cows", "hen", "hens", "pig", "pigs", "bus", "boy", "boys", "job", "jobs",
    "kid", "kids", "pet", "pets", "row", "rows", "set", "sets", "way", "ways", "ball", "bar",
    "bars", "bed", "bee", "bees", "fish", "hat", "hats", "hour", "jar", "jars", "key", "keys",
    "leg", "legs", "map", "mile", "nut", "nuts", "pair", "pan", "pot", "pots", "rat", "ticket",
    "tie", "ties", "tin", "win", "wins", "won", "sum", "area", "was", "any", "but", "both", "min",
];

/// Abbreviations of units; at the start of a calculation they are variables, as in `mg\sin\theta`.
const UNITS: &[&str] = &[
    "cm", "mm", "km", "dm", "kg", "mg", "ml", "ft", "mi", "yd", "lb", "lbs", "oz", "hr", "hrs",
    "mph", "kmh", "kph", "sq", "deg", "rad", "am", "pm", "gal", "pct", "pt", "qt", "hz", "mol",
    "kw", "kwh", "kj",
];

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
    run.chars().count() >= 4
        || capitalised
        || !run.is_ascii()
        || NAMES.contains(&lower.as_str())
        || run == "Rs"
        || SHORT_WORDS.contains(&lower.as_str())
        || UNITS.contains(&lower.as_str())
}

/// Returns true if a run of letters is a unit only after a number.
pub(super) fn is_unit_abbreviation(run: &str) -> bool {
    UNITS.contains(&run)
}

/// Splits `sinx` and `lny` into the function and its argument.
pub(super) fn split_function(run: &str) -> Option<(&str, char)> {
    let argument = run.chars().next_back().filter(|c| matches!(c, 'x' | 'y'))?;
    let name = &run[..run.len() - 1];
    matches!(name, "sin" | "cos" | "tan" | "cot" | "sec" | "csc" | "ln" | "log" | "lg" | "exp")
        .then_some((name, argument))
}
