//! Unicode, HTML and Markdown spellings folded into the LaTeX and ASCII that the lexer reads.

mod markup;
mod symbol;

pub(crate) use markup::undecorated;

/// Replaces Unicode mathematics by ASCII or LaTeX and drops invisible characters.
pub(crate) fn fold(text: &str) -> String {
    let text = markup::plain(text);
    let mut folded = String::with_capacity(text.len() + 16);
    let mut script = None;
    for c in text.chars() {
        let (next, plain) = if c.is_ascii() { (None, None) } else { script_character(c) };
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
        match plain {
            Some(plain) => folded.push(plain),
            None => symbol::fold_character(c, &mut folded),
        }
    }
    if script.is_some() {
        folded.push('}');
    }
    folded
}

/// Returns (`^` or `_`, plain character) for a superscript or subscript character.
fn script_character(c: char) -> (Option<char>, Option<char>) {
    const SUPERSCRIPT: (&str, &str) = ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵏᵐˣʸᵃᵇ", "0123456789+-=()nikmxyab");
    const SUBSCRIPT: (&str, &str) = ("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₙₘₖₚₛₜᵢⱼ", "0123456789+-=()aeoxnmkpstij");
    for (mark, (scripts, plain)) in [('^', SUPERSCRIPT), ('_', SUBSCRIPT)] {
        let script_pair = scripts.chars().zip(plain.chars()).find(|(script, _)| *script == c);
        if let Some((_, plain)) = script_pair {
            return (Some(mark), Some(plain));
        }
    }
    (None, None)
}
