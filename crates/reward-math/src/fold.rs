//! Unicode spellings folded into the LaTeX and ASCII that the lexer reads.

/// Replaces Unicode mathematics by ASCII or LaTeX and drops invisible characters.
pub(crate) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 16);
    let mut script = None;
    for c in text.chars() {
        let (next, digit) = script_digit(c);
        if next != script {
            if script.is_some() {
                folded.push('}');
            }
            if let Some(mark) = next {
                folded.push(mark);
                folded.push('{');
            }
            script = next;
        }
        match digit {
            Some(digit) => folded.push(digit),
            None => fold_character(c, &mut folded),
        }
    }
    if script.is_some() {
        folded.push('}');
    }
    folded
}

/// Superscript and subscript characters as (`^` or `_`, plain character).
fn script_digit(c: char) -> (Option<char>, Option<char>) {
    const SUPERSCRIPT: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const SUBSCRIPT: &str = "₀₁₂₃₄₅₆₇₈₉";
    let digit = |set: &str| {
        set.chars().zip('0'..='9').find_map(|(script, plain)| (script == c).then_some(plain))
    };
    if let Some(plain) = digit(SUPERSCRIPT) {
        (Some('^'), Some(plain))
    } else if let Some(plain) = digit(SUBSCRIPT) {
        (Some('_'), Some(plain))
    } else {
        match c {
            '⁻' => (Some('^'), Some('-')),
            'ⁿ' => (Some('^'), Some('n')),
            _ => (None, None),
        }
    }
}

fn fold_character(c: char, folded: &mut String) {
    let replacement = match c {
        '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{ad}'
        | '“'
        | '”'
        | '"' => "",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' | '~' | '\t' | '\n' | '\r' => {
            " "
        }
        '−' | '–' | '—' | '‐' | '‑' | '－' => "-",
        '×' | '·' | '⋅' | '∙' | '∗' | '✕' => "*",
        '÷' | '∕' | '⁄' => "/",
        '≤' | '⩽' => "\\le ",
        '≥' | '⩾' => "\\ge ",
        '≠' => "\\ne ",
        '≈' => "\\approx ",
        '±' => "\\pm ",
        '∓' => "\\mp ",
        '√' => "\\surd ",
        '∛' => "\\cbrt ",
        '∞' => "\\infty ",
        '∪' => "\\cup ",
        '∈' => "\\in ",
        '∅' => "\\emptyset ",
        'ℝ' => "\\mathbb{R}",
        'π' => "\\pi ",
        '°' | 'º' => "^\\circ ",
        '′' | '’' => "'",
        '…' => "...",
        '½' => "\\frac12 ",
        '⅓' => "\\frac13 ",
        '⅔' => "\\frac23 ",
        '¼' => "\\frac14 ",
        '¾' => "\\frac34 ",
        '⅕' => "\\frac15 ",
        '⅛' => "\\frac18 ",
        'α' => "\\alpha ",
        'β' => "\\beta ",
        'γ' => "\\gamma ",
        'δ' => "\\delta ",
        'θ' => "\\theta ",
        'λ' => "\\lambda ",
        'μ' | 'µ' => "\\mu ",
        'φ' | 'ϕ' => "\\phi ",
        'ω' => "\\omega ",
        '⟨' => "\\langle ",
        '⟩' => "\\rangle ",
        '、' | '，' | '和' | '或' => ",",
        '。' | '．' => ".",
        // Full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            folded.extend(char::from_u32(c as u32 - 0xff01 + 0x21));
            return;
        }
        _ => {
            folded.push(c);
            return;
        }
    };
    folded.push_str(replacement);
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn unicode_mathematics_becomes_latex() {
        assert_eq!(fold("−5"), "-5");
        assert_eq!(fold("15cm²"), "15cm^{2}");
        assert_eq!(fold("x₁²"), "x_{1}^{2}");
        assert_eq!(fold("（1，2）"), "(1,2)");
        assert_eq!(fold("\u{feff}5\u{200b}"), "5");
    }
}
