//! Single characters of Unicode and what LaTeX calls them.

/// Appends what the lexer reads for this character.
pub(super) fn fold_character(c: char, folded: &mut String) {
    // Most characters by far.
    if c.is_ascii_alphanumeric() {
        folded.push(c);
        return;
    }
    if let Some(replacement) = sign(c).or_else(|| letter(c)) {
        folded.push_str(replacement);
        return;
    }
    folded.push(styled(c).unwrap_or(c));
}

/// Signs, spaces and fractions.
#[expect(clippy::too_many_lines, reason = "one table")]
fn sign(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{2064}'
        | '\u{fe0e}'
        | '\u{fe0f}'
        | '\u{feff}'
        | '\u{ad}'
        | '“'
        | '”'
        | '"' => "",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' | '~' | '\t' | '\n' | '\r' => {
            " "
        }
        '−' | '–' | '—' | '‐' | '‑' | '－' | '﹣' => "-",
        '×' | '·' | '⋅' | '∙' | '∗' | '✕' | '✖' | '•' | '⨯' => "*",
        '÷' | '∕' | '⁄' => "/",
        '≤' | '⩽' | '≦' => "\\le ",
        '≥' | '⩾' | '≧' => "\\ge ",
        '≠' => "\\ne ",
        '≈' | '≒' | '≃' => "\\approx ",
        '≡' => "\\equiv ",
        '±' => "\\pm ",
        '∓' => "\\mp ",
        '√' => "\\surd ",
        '∛' => "\\cbrt ",
        '∑' => "\\sum ",
        '∏' => "\\prod ",
        '∫' => "\\int ",
        '∞' => "\\infty ",
        '∪' | '⋃' => "\\cup ",
        '∩' | '⋂' => "\\cap ",
        '∖' => "\\setminus ",
        '∧' => "\\land ",
        '∨' => "\\lor ",
        '∈' => "\\in ",
        '∉' => "\\notin ",
        '∣' => "\\mid ",
        '∀' => "\\forall ",
        '∅' | '⌀' => "\\emptyset ",
        '∠' => "\\angle ",
        '△' => "\\triangle ",
        '∴' => "\\therefore ",
        '⇒' | '⟹' => "\\implies ",
        '→' => "\\to ",
        '⌊' => "\\lfloor ",
        '⌋' => "\\rfloor ",
        '⌈' => "\\lceil ",
        '⌉' => "\\rceil ",
        '°' | 'º' | '˚' => "^\\circ ",
        '℃' => "^\\circ C",
        '℉' => "^\\circ F",
        '′' | '’' | '‘' | 'ʹ' => "'",
        '″' => "''",
        '…' | '⋯' => "...",
        '½' => "\\frac12 ",
        '⅓' => "\\frac13 ",
        '⅔' => "\\frac23 ",
        '¼' => "\\frac14 ",
        '¾' => "\\frac34 ",
        '⅕' => "\\frac15 ",
        '⅖' => "\\frac25 ",
        '⅗' => "\\frac35 ",
        '⅘' => "\\frac45 ",
        '⅙' => "\\frac16 ",
        '⅚' => "\\frac56 ",
        '⅛' => "\\frac18 ",
        '⅜' => "\\frac38 ",
        '⅝' => "\\frac58 ",
        '⅞' => "\\frac78 ",
        '⟨' | '〈' => "\\langle ",
        '⟩' | '〉' => "\\rangle ",
        '、' | '，' | '和' | '或' => ",",
        '且' => " and ",
        '。' | '．' => ".",
        '￥' => "¥",
        _ => return None,
    })
}

/// Greek letters and the number sets.
fn letter(c: char) -> Option<&'static str> {
    Some(match c {
        'ℝ' => "\\mathbb{R}",
        'ℤ' => "\\mathbb{Z}",
        'ℕ' => "\\mathbb{N}",
        'ℚ' => "\\mathbb{Q}",
        'ℂ' => "\\mathbb{C}",
        'π' => "\\pi ",
        'α' => "\\alpha ",
        'β' => "\\beta ",
        'γ' => "\\gamma ",
        'δ' => "\\delta ",
        'ε' | 'ϵ' => "\\epsilon ",
        'ζ' => "\\zeta ",
        'η' => "\\eta ",
        'θ' | 'ϑ' => "\\theta ",
        'κ' => "\\kappa ",
        'λ' => "\\lambda ",
        'μ' | 'µ' => "\\mu ",
        'ν' => "\\nu ",
        'ξ' => "\\xi ",
        'ρ' => "\\rho ",
        'σ' => "\\sigma ",
        'τ' => "\\tau ",
        'φ' | 'ϕ' => "\\phi ",
        'χ' => "\\chi ",
        'ψ' => "\\psi ",
        'ω' => "\\omega ",
        'Γ' => "\\Gamma ",
        'Δ' | '∆' => "\\Delta ",
        'Θ' => "\\Theta ",
        'Λ' => "\\Lambda ",
        'Π' => "\\Pi ",
        'Σ' => "\\Sigma ",
        'Φ' => "\\Phi ",
        'Ψ' => "\\Psi ",
        'Ω' | '\u{2126}' => "\\Omega ",
        _ => return None,
    })
}

/// The plain character of a full-width form or of a letter or digit in one of the mathematical styles.
fn styled(c: char) -> Option<char> {
    let code = u32::from(c);
    char::from_u32(match code {
        0xff01..=0xff5e => code - 0xff01 + 0x21,
        // Thirteen alphabets of capital and small letters, then five sets of digits.
        0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            capital @ 0..26 => u32::from('A') + capital,
            small => u32::from('a') + small - 26,
        },
        0x1d7ce..=0x1d7ff => u32::from('0') + (code - 0x1d7ce) % 10,
        0x210e => u32::from('h'),
        _ => return None,
    })
}
