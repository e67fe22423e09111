//! Keys that are equal for equal questions: texts without the marks of typesetting.

/// Returns the letters, digits (of any script) and meaningful signs of a question.
///
/// Case, spaces, punctuation and the marks of typesetting are removed. The signs `+ - * / = < > ^ ! % |` change the
/// question, so they stay.
///
/// Two questions with the same key are the same question. Keys of letters and digits alone would not do: DAPO-Math-17k
/// asks for `x^8 + 98x^4 + 1` and for `x^8 - 98x^4 + 1`, with different answers.
pub fn symbols_key(text: &str) -> String {
    key(text, |c| c.is_alphanumeric() || "+-*/=<>^!%|".contains(c))
}

/// Returns the letters and digits (of any script) of a text: the key that published overlap counts use.
pub fn letters_key(text: &str) -> String {
    key(text, char::is_alphanumeric)
}

fn key(text: &str, kept: impl Fn(char) -> bool) -> String {
    // Text extraction turns a typeset minus sign into U+2212.
    let plain = |c| if c == '−' { '-' } else { c };
    text.chars().map(plain).filter(|&c| kept(c)).flat_map(char::to_lowercase).collect()
}

/// Positions of equal keys, for each that occurs more than once, in order of the first.
pub(crate) fn equal_keys<K: Ord>(keys: &[K]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&position| (&keys[position], position));
    let equal = order.chunk_by(|&left, &right| keys[left] == keys[right]);
    let mut groups: Vec<Vec<usize>> =
        equal.filter(|group| group.len() > 1).map(<[usize]>::to_vec).collect();
    groups.sort_unstable();
    groups
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
