//! How wide a text will be, whatever sans-serif font the reader has.

/// Width of `text` in widths of an average small letter of a bold font, generous.
///
/// From the wide ones among the fonts of the style, for there is no font to ask.
pub(crate) fn text_width(text: &str) -> f64 {
    let width = |character: char| match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' => 0.6,
        ' ' | 'f' | 'r' | 't' | '(' | ')' | '-' | '/' => 0.75,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.6,
        '+' | '=' | '−' | '×' | '‖' | '≥' | '≤' => 1.35,
        _ if character.is_uppercase() => 1.3,
        _ => 1.1,
    };
    text.chars().map(width).sum()
}
