//! How wide a text will be, whatever sans-serif font the reader has.

/// Width of `text` in widths of an average small letter of a bold font, generous.
///
/// From the wide ones among the fonts of the style, for there is no font to ask.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().map(character_width).sum()
}

fn character_width(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' => 0.6,
        ' ' | 'f' | 'r' | 't' | '(' | ')' | '-' | '/' => 0.75,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.6,
        '+' | '=' | '−' | '×' | '‖' | '≥' | '≤' => 1.35,
        _ if character.is_uppercase() => 1.3,
        _ => 1.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_are_wider_than_small_letters_and_those_than_stops() {
        assert!(text_width("GRPO") > text_width("grpo"));
        assert!(text_width("grpo") > text_width("i.l,"));
        assert!((text_width("a b") - text_width("a") - text_width(" b")).abs() < 1e-12);
        assert!(text_width("").abs() <= 0.0);
    }
}
