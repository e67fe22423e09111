//! The answer in an object of JSON, or as Python prints one: `{"answer": "\\frac{1}{2}"}`.

use std::ops::Range;

use super::extracted::{Extracted, Rule, some_text};
use crate::table::{captured, pattern};

/// Returns the value of the last `"answer":`: a text, a number or expression, the items of a list, an object.
pub(super) fn value(response: &str) -> Option<Range<usize>> {
    let key = pattern!(r#"["'](?:final_|correct_)?answer["']\s*:\s*"#);
    let key = key.find_iter(response).last()?.end();
    let value = pattern!(
        r#"(?x)^(?: "((?:[^"\\]|\\.)*)" | '((?:[^'\\\n]|\\.)*)' | \[((?:\s*"[^"]*"\s*,?)+)\]
            | (\[(?:[^\[\]{}]|\[[^\[\]{}]*\])*\]|\{[^{}]*\})
            | ([^\s"'\[{,}][^\n}]*?)\s*(?:,\s*["']|,?\s*(?:[}\n]|$)) )"#
    );
    let inner = captured(value, &response[key..])?;
    some_text(response, key + inner.start()..key + inner.end())
}

/// Returns the text that a string of JSON stands for; backslashes of LaTeX may lack their second one.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let code = pattern!(r"\\u([0-9a-fA-F]{4})");
    let single = pattern!(r#"\\(?:[\\"/n]|u[0-9a-fA-F]{4})"#).replace_all(text, "");
    if text.contains("\\\\") && !single.contains('\\') {
        return serde_json::from_str(&format!("\"{text}\"")).ok();
    }
    let character = |code: &regex::Captures<'_>| {
        let number = u32::from_str_radix(&code[1], 16).ok();
        number.and_then(char::from_u32).map_or_else(|| code[0].to_owned(), String::from)
    };
    code.is_match(text).then(|| code.replace_all(text, character).into_owned())
}

/// Returns the items of a list, or the matrix of a list of rows: `[[1, 0], [0, 1]]`.
pub(crate) fn items(extracted: &Extracted) -> Option<String> {
    let inner = extracted.text.strip_prefix('[')?.strip_suffix(']')?.trim();
    let rows = pattern!(r"\[([^\[\]]*)\]").captures_iter(inner).map(|row| row[1].replace(',', "&"));
    let rows: Vec<String> = rows.collect();
    let matrix = || format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", rows.join("\\\\"));
    let text = if rows.is_empty() { inner.to_owned() } else { matrix() };
    (extracted.rule == Rule::Tag && !inner.is_empty()).then_some(text)
}
