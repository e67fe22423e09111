//! Which runs of letters are words.

/// Names of functions and constants written without a backslash.
const NAMES: &[&str] = &[
    "sqrt", "sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "lg", "exp", "arcsin", "arccos",
    "arctan", "abs", "pi", "tg", "ctg", "arctg", "inf", "infinity", "oo", "sgn",
];

/// Short words that are no product of variables.
const SHORT_WORDS: &[&str] = &[
    "cm", "mm", "km", "kg", "mg", "ml", "ft", "mi", "yd", "lb", "lbs", "oz", "hr", "hrs", "min",
    "sec", "mph", "kmh", "kph", "sq", "deg", "rad", "per", "am", "pm", "usd", "yes", "no", "odd",
    "the", "and", "or", "to", "is", "in", "of", "an", "not", "are", "day", "days", "men", "cat",
    "cats", "dog", "dogs", "mod", "gcd", "lcm", "max", "dne", "nan", "cents", "cent", "pm", "even",
    "none", "true", "year", "pie", "pies", "egg", "eggs", "cup", "cups", "box", "toy", "toys",
    "pen", "pens", "bag", "bags", "car", "cars", "all", "if", "for", "has", "had", "he", "she",
    "we", "it", "feet", "inch", "gal", "pct", "pt", "qt", "hz", "m/s",
];

/// Whether a run of two or more letters is a word or name rather than a product of variables.
pub(super) fn is_word(run: &str) -> bool {
    // `NO` and `OR` are segments of a figure.
    if run.len() == 2
        && run.bytes().all(|byte| byte.is_ascii_uppercase())
        && !matches!(run, "AM" | "PM")
    {
        return false;
    }
    let lower = run.to_lowercase();
    run.chars().count() >= 4
        || !run.is_ascii()
        || NAMES.contains(&lower.as_str())
        || SHORT_WORDS.contains(&lower.as_str())
}
