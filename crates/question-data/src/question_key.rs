//! When two questions are the same: texts without what typesetting changes.

/// What is left of a question when case, spaces, punctuation and the marks of typesetting are taken away: its letters
/// and digits (of any script), and the signs that change what is asked, `+ - * / = < > ^ ! % |`.
///
/// Two questions with the same key are the same question. Keys of letters and digits alone would not do: DAPO-Math-17k
/// asks for `x^8 + 98x^4 + 1` and for `x^8 - 98x^4 + 1`, with different answers.
pub fn symbols_key(text: &str) -> String {
    key(text, |c| c.is_alphanumeric() || "+-*/=<>^!%|".contains(c))
}

/// What is left when only letters and digits (of any script) stay: the key of published counts of overlap.
pub fn letters_key(text: &str) -> String {
    key(text, char::is_alphanumeric)
}

fn key(text: &str, kept: impl Fn(char) -> bool) -> String {
    // U+2212 is what a typeset minus sign becomes in extracted text.
    let plain = |c| if c == '−' { '-' } else { c };
    text.chars().map(plain).filter(|&c| kept(c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typesetting_changes_no_key_and_a_sign_does() {
        let one = "Let $x^{2} - 1 = 0$. Find  x!";
        let two = "let \\(x^2-1=0\\); find x!";
        let other = "let \\(x^2+1=0\\); find x!";
        assert_eq!(symbols_key(one), "letx^2-1=0findx!");
        assert_eq!(symbols_key(one), symbols_key(two));
        assert_ne!(symbols_key(one), symbols_key(other));
        assert_eq!(letters_key(one), letters_key(other));
        assert_eq!(letters_key("设 Ä−1"), "设ä1");
    }
}
